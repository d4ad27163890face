/**
 * The engines that write frames, over the veth pair that `../engines.sh` creates.
 *
 * Covers src/net/linux/frame_socket.ts, src/net/linux/packet_sender.ts,
 * src/net/linux/xdp_sender.ts, src/net/linux/xdp/xdp_socket.ts, src/net/linux/batch/frame_batch.ts
 * and src/net/linux/ffi/sockaddr_ll.ts.
 */
import { SendThread } from "../../../src/net/linux/thread/send_thread.ts";
import { PacketSender } from "../../../src/net/linux/packet_sender.ts";
import { type FrameSender, FrameSocket } from "../../../src/net/linux/frame_socket.ts";
import { openUdpSocket } from "../../../src/net/linux/udp_engine.ts";
import { type Opener, testEngine } from "../../sockets/engine_contract.ts";
import { XdpSocket } from "../../../src/net/linux/xdp/xdp_socket.ts";
import { XdpSender } from "../../../src/net/linux/xdp_sender.ts";
import { indexOf, OURS, ROUTE } from "./place.ts";

/** Opens sockets whose frames leave by one end of the pair and arrive at the other. */
function opener(outlet: FrameSender, thread?: SendThread): Opener {
  return (local) => {
    if (typeof local.address === "bigint") return openUdpSocket(local, { thread });
    const udp = openUdpSocket(local, { thread, errors: outlet.errors });
    return new FrameSocket(udp, outlet, ROUTE);
  };
}

async function runWith(
  test: (open: Opener) => Promise<void>,
  outlet: FrameSender,
  thread?: SendThread,
): Promise<void> {
  thread?.hold();
  outlet.hold();
  outlet.errors.send.clear();
  try {
    await test(opener(outlet, thread));
  } finally {
    await outlet.release();
    await thread?.release();
  }
}

testEngine({
  name: "packet",
  address: OURS,
  run: (test) => runWith(test, new PacketSender(indexOf("near0"))),
});
testEngine({
  name: "packet with a thread",
  address: OURS,
  async run(test) {
    const thread = await SendThread.start({ route: ROUTE });
    await runWith(test, new PacketSender(indexOf("near0"), thread), thread);
  },
});
testEngine({
  name: "xdp",
  address: OURS,
  run: (test) => runWith(test, new XdpSender(new XdpSocket(indexOf("near0"), 0))),
});
testEngine({
  name: "xdp with a thread",
  address: OURS,
  async run(test) {
    const socket = new XdpSocket(indexOf("near0"), 1);
    const thread = await SendThread.start({ route: ROUTE, rings: socket.map });
    await runWith(test, new XdpSender(socket, thread), thread);
  },
});

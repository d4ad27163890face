/** The engines without privileges fulfil the common contract on loopback. */
import { openSocket } from "../../src/net/deno/udp_socket.ts";
import { SendThread } from "../../src/net/linux/thread/send_thread.ts";
import { testEngine } from "./engine_contract.ts";

const address = 0x7f000001;

testEngine({ name: "portable", address, run: (test) => test((local) => openSocket(local)) });
if (Deno.build.os === "linux") {
  const { openUdpSocket } = await import("../../src/net/linux/udp_engine.ts");
  testEngine({ name: "udp", address, run: (test) => test((local) => openUdpSocket(local)) });
  testEngine({
    name: "udp with a thread",
    address,
    async run(test) {
      const thread = await SendThread.start();
      thread.hold();
      await test((local) => openUdpSocket(local, { thread })).finally(() => thread.release());
    },
  });
}

/**
 * A simulated Bedrock server on port 19133 of every IPv6 address of its host. It also receives datagrams
 * to all nodes of a link. It is for network namespaces, because servers of a fleet have only their own
 * addresses.
 *
 *     deno run --allow-net tests/namespaces/bedrock6.ts
 */
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { openSocket } from "../../src/net/deno/udp_socket.ts";

const [{ responder }] = drawFleet({
  ...{ servers: 1, range: { start: 0x7f000001, end: 0x7f000002 }, seed: 66, software: ["bds"] },
});
await using socket = openSocket({ address: 0n, port: 19133 });
await socket.listen((datagram, from) => {
  const peer = { ...from };
  for (const reply of responder!.respond(datagram, peer, 0)) void socket.send(reply, peer);
});

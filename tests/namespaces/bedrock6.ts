/**
 * A simulated Bedrock server on port 19133 of every IPv6 address of its host, and a modded Java world on
 * port 51234, which announces itself over IPv6. The Bedrock server also receives datagrams to all nodes of
 * a link. They are for network namespaces, because servers of a fleet have only their own addresses.
 *
 *     deno run --allow-net tests/namespaces/bedrock6.ts
 */
import { drawFleet } from "../../src/fleet/simulate/draw_fleet.ts";
import { ANNOUNCEMENTS } from "../../src/fleet/simulate/lan_worlds.ts";
import { serve } from "../../src/fleet/simulate/network/tcp_connection.ts";
import { systemClock } from "../../src/net/clock.ts";
import { StreamListener } from "../../src/net/deno/tcp_listener.ts";
import { openSocket } from "../../src/net/deno/udp_socket.ts";

const fleet = { servers: 1, range: { start: 0x7f000001, end: 0x7f000002 }, seed: 66 };
const [{ responder }] = drawFleet({ ...fleet, software: ["bds"] });
const [world] = drawFleet({ ...fleet, software: ["openToLan"] });
await using socket = openSocket({ address: 0n, port: 19133 });
using listener = new StreamListener({ address: 0n, port: world.endpoint.port });
void listener.listen((stream, peer) =>
  void serve(stream, world.streams!, peer, {
    clock: systemClock,
    delay: () => 0,
    signal: new AbortController().signal,
    note: () => {},
  })
);
const announce = () => void socket.send(world.announcement!, ANNOUNCEMENTS.groups[6]);
setInterval(announce, ANNOUNCEMENTS.everyMs);
await socket.listen((datagram, from) => {
  const peer = { ...from };
  for (const reply of responder!.respond(datagram, peer, 0)) void socket.send(reply, peer);
});

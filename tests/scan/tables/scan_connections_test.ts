import { assertEquals } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { serverId } from "../../../src/core/record.ts";
import { PROTOCOLS } from "../../../src/protocols/list.ts";
import { NO_STREAM_FAULTS } from "../../../src/testing/fake_streams.ts";
import { scanFleet } from "../scan_harness.ts";

const BODY = JSON.stringify({ name: "Both", protocol: 2193, version: "1.26.52", maxPlayers: 10 });
const REPLY = `HTTP/1.1 200 OK\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

Deno.test("an interview uses the running visit of a server, and opens no second connection beside it", async () => {
  const range = { start: 0x7f100000, end: 0x7f100100 };
  for (const delay of [0, 1, 10]) {
    const result = await scanFleet({
      fleet: { servers: 20, range, seed: 3, software: ["pocketmine"] },
      faults: { loss: 0, duplication: 0, delay, jitter: 0 },
      streamFaults: { ...NO_STREAM_FAULTS, delay: 50, jitter: 0 },
      protocols: PROTOCOLS.filter(({ name }) => name === "raknet" || name === "nethernet"),
      ports: () => [19132],
      prepare: (_network, hosts, streams) => {
        for (const { endpoint } of hosts) {
          streams.host(endpoint, {
            accept: () => ({
              opening: [],
              receive: () => [{ bytes: new TextEncoder().encode(REPLY) }, "close"],
            }),
          });
        }
      },
    });
    const begun = result.streams.begun.map(({ to }) => formatEndpoint(to));
    const connections = result.rows.map((row) => begun.filter((to) => to === serverId(row)).length);
    assertEquals(connections, Array(20).fill(1));
    assertEquals(
      new Set(result.rows.map(({ protocols }) => protocols.join())),
      new Set(["raknet,nethernet"]),
    );
  }
});

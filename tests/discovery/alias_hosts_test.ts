/** Hosts with one server on many ports: src/discovery/alias_hosts.ts, src/discovery/contract.ts. */
import { assertEquals } from "@std/assert";
import { AliasHosts } from "../../src/discovery/alias_hosts.ts";

const HOST = 0xc0000201;

Deno.test("a host ends at its eighth port with the same fingerprint", () => {
  const aliases = new AliasHosts();
  const ended = Array.from({ length: 9 }, () => aliases.note(HOST, 0xabcdef01));
  assertEquals(ended, [...Array(7).fill(undefined), "host", undefined]);
  assertEquals([aliases.has(HOST), aliases.has(HOST + 1)], [true, false]);
});

Deno.test("a host with different servers on its ports does not end", () => {
  const aliases = new AliasHosts();
  for (let port = 0; port < 100; port++) aliases.note(HOST, Math.imul(port, 0x9e3779b9));
  assertEquals(aliases.has(HOST), false);
});

Deno.test("a /24 ends with its sixteenth host, and the next /24 does not", () => {
  const aliases = new AliasHosts();
  const ended = Array.from({ length: 16 }, (_, i) => aliases.endHost(0xc0000200 + i));
  assertEquals(ended, [...Array(15).fill("host"), "network"]);
  const { endedHosts, endedNetworks } = aliases.take();
  assertEquals([endedHosts.length, endedNetworks], [16, [0xc00002]]);
  assertEquals(aliases.take(), { endedHosts: [], endedNetworks: [] });
  assertEquals([aliases.has(0xc00002ff), aliases.has(0xc0000300)], [true, false]);
});

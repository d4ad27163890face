/**
 * Usual ports: src/protocols/usual_ports.ts.
 *
 * Covers src/protocols/list.ts.
 */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { hasUsualPort, parseUsualPorts, usualPorts } from "../../src/protocols/usual_ports.ts";

Deno.test("usual ports are read by protocol and family, sorted", () => {
  const text = "# x\nraknet 19132 why\nraknet/6 19133,19132\n";
  assertEquals(parseUsualPorts(text, "raknet"), { 4: [19132], 6: [19132, 19133] });
  assertEquals(parseUsualPorts(text, "query"), { 4: [], 6: [] });
});

Deno.test("protocols have the ports of data/ports.txt; SQP has none", () => {
  const ports = usualPorts(PROTOCOLS);
  assertEquals([ports("raknet", 4), ports("raknet", 6)], [[19132], [19132, 19133]]);
  assertEquals([ports("slp", 4), ports("slp", 6)], [[25565], [25565]]);
  assertEquals([ports("query", 4), ports("query", 6)], [[25565], [25565]]);
  assertEquals([ports("sqp", 4), ports("sqp", 6), ports("unknown", 4)], [[], [], []]);
  assertEquals(PROTOCOLS.filter((one) => !hasUsualPort(one)).map(({ name }) => name), ["sqp"]);
});

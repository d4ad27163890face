/**
 * Usual ports: src/protocols/usual_ports.ts.
 *
 * Covers src/protocols/list.ts.
 */
import { assertEquals } from "@std/assert";
import { PROTOCOLS } from "../../src/protocols/list.ts";
import { hasUsualPort, usualPorts } from "../../src/protocols/usual_ports.ts";

Deno.test("the usual ports are the defaults of Bedrock and Java servers; SQP has none", () => {
  const ports = usualPorts(PROTOCOLS);
  assertEquals([ports("raknet", 4), ports("raknet", 6)], [[19132], [19132, 19133]]);
  assertEquals([ports("slp", 4), ports("slp", 6)], [[25565], [25565]]);
  assertEquals([ports("query", 4), ports("query", 6)], [[25565], [25565]]);
  assertEquals([ports("sqp", 4), ports("sqp", 6), ports("unknown", 4)], [[], [], []]);
  assertEquals(PROTOCOLS.filter((one) => !hasUsualPort(one)).map(({ name }) => name), ["sqp"]);
});

import { assertEquals } from "@std/assert";
import { chooseService, requestText, serviceName } from "../../src/targets/srv.ts";

const record = (target: string, port = 25565, priority = 0, weight = 0) => ({
  target,
  port,
  priority,
  weight,
});

Deno.test("chooseService() chooses the lowest priority, then the highest weight", () => {
  const records = [
    record("c.example.", 3, 20, 900),
    record("b.example.", 2, 10, 5),
    record("a.example.", 1, 10, 50),
  ];
  for (const order of [records, records.toReversed()]) {
    assertEquals(chooseService(order), { host: "a.example", port: 1 });
  }
});

Deno.test("chooseService() skips records without a valid host or port", () => {
  const broken = [
    record("."),
    record(""),
    record("10.0.0.1."),
    record("a.example:7."),
    record("a b.example."),
    record("a.example.", 0),
    record("a.example.", 70_000),
    record("\x1b[2J."),
  ];
  for (const one of broken) assertEquals(chooseService([one]), undefined, one.target);
  assertEquals(chooseService([]), undefined);
  const [host, port] = ["__proto__.example", 9];
  assertEquals(chooseService([...broken, record("ok.example.", 9, 99)])?.port, port);
  assertEquals(serviceName(host), "_minecraft._tcp.__proto__.example");
});

Deno.test("requestText() can be parsed back, because names and hosts contain no space", () => {
  const read = (text: string) => /^(\S+)(?: SRV (\S+):(\d+))?$/.exec(text)!.slice(1);
  const service = { host: "mc1.example", port: 25570 };
  assertEquals(read(requestText("srv.example", service)), ["srv.example", "mc1.example", "25570"]);
  assertEquals(read(requestText("srv.example")), ["srv.example", undefined, undefined]);
});

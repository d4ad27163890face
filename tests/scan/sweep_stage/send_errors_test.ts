import { assertEquals } from "@std/assert";
import { type DatagramSocket, noErrors } from "../../../src/net/socket.ts";
import { SendErrors } from "../../../src/scan/sweep_stage/send_errors.ts";

Deno.test("errors of all sockets are added up, and shared counters count once", () => {
  const [shared, own] = [noErrors(), noErrors()];
  const sockets = [shared, own, shared].map((errors) => ({ errors }) as DatagramSocket);
  const reported: string[] = [];
  const troubles = new SendErrors(sockets, (code, kind) => reported.push(`${code} ${kind}`));
  const state = { errors: {}, waits: {} };
  troubles.count(state);
  assertEquals([state, reported], [{ errors: {}, waits: {} }, []]);
  shared.send.set("EPERM", 2);
  own.send.set("EPERM", 3);
  own.waits.set("ENETDOWN", 1);
  for (const _ of [1, 2]) {
    troubles.count(state);
    assertEquals(state, { errors: { EPERM: 5 }, waits: { ENETDOWN: 1 } });
    assertEquals(reported, ["EPERM refused", "ENETDOWN waits"]);
  }
  shared.waits.set("EPERM", 1);
  troubles.count(state);
  assertEquals(reported.at(-1), "EPERM waits");
});

/** Covers src/store/events/valid_event.ts. */
import { assert, assertEquals } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { validEvent } from "../../../src/store/events/valid_event.ts";
import { eachKind } from "./events.ts";

Deno.test("every kind of event is valid after it was written and read", () => {
  for (const event of eachKind()) {
    assertEquals(validEvent(JSON.parse(JSON.stringify(event))), JSON.parse(JSON.stringify(event)));
  }
});

Deno.test("what is accepted as an event can be sent in every format", () => {
  const receivers = [
    newReceiver("discord", "https://e.example/"),
    newReceiver("slack", "https://e.example/"),
    newReceiver("ntfy", "https://e.example/t"),
    newReceiver("json", "https://e.example/", { text: '"{message} {time}"', source: "t" }),
  ];
  const value = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, "", "offline", "online", 1e300, -1, [], {}, [1, 2], "::1", "1.2.3.4"),
  );
  let accepted = 0;
  const members = fc.constantFrom(...Object.keys(Object.assign({}, ...eachKind())));
  fc.assert(
    fc.property(fc.constantFrom(...eachKind()), members, value, (event, member, wrong) => {
      const changed = { ...event, [member]: wrong } as typeof event;
      if (validEvent(changed) === undefined) return;
      accepted++;
      for (const { body } of receivers) assert(body([changed]).length > 2);
    }),
    { seed: 3, numRuns: 5000 },
  );
  assert(accepted > 200, `${accepted}`);
  for (const wrong of ["", null, [], "x", 5, undefined, {}, { event: "toString" }]) {
    assertEquals(validEvent(wrong), undefined);
  }
});

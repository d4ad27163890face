/** Covers src/watch/webhook/message_text.ts, and a message to people after an outage of its receiver. */
import { assert, assertEquals } from "@std/assert";
import type { WatchEvent } from "../../../src/store/events/watch_event.ts";
import { newReceiver } from "../../../src/watch/webhook/receivers.ts";
import { Webhook } from "../../../src/watch/webhook/webhook.ts";
import { messageOf } from "../../../src/watch/webhook/message_text.ts";
import { FakeNetwork } from "../../../src/testing/fake_network.ts";
import { eachKind, offline } from "./events.ts";
import { outboxIn } from "./outboxes.ts";

/** Events of a server: `online` and `offline` in turn, named by their numbers. */
function changes(port: number, from: number, count: number): WatchEvent[] {
  return Array.from({ length: count }, (_, i) => {
    const [online, offline] = eachKind({ port, name: `${port}#${from + i}`, id: `${port}-${i}` });
    return i % 2 === 0 ? online : offline;
  });
}

const nameOf = ({ name }: WatchEvent) => name ?? "the watch";

Deno.test("events that fit are all shown in their order, also several of one server", () => {
  const events = [...changes(1, 0, 2), ...changes(2, 0, 1)];
  assertEquals(messageOf(events, nameOf, { longest: 11 }), {
    text: "1#0\n1#1\n2#0",
    reported: events,
  });
});

Deno.test("of more events than fit, the newest of each server is shown, with the number of earlier ones", () => {
  const events = [...changes(1, 0, 20), ...changes(2, 0, 20), ...changes(1, 20, 1)];
  const { text, reported } = messageOf(events, nameOf, { longest: 60 });
  assertEquals(text, "2#19\n1#20\nand 39 earlier events");
  assertEquals(reported.map(nameOf), ["2#19", "1#20"]);
});

Deno.test("of more servers than fit, those that changed last are shown, and the others are counted", () => {
  const events = [...changes(1, 0, 9), ...[2, 3, 4, 5].flatMap((port) => changes(port, 0, 1))];
  const rest = "and 13 more servers, 13 earlier events";
  const { text, reported } = messageOf(events, nameOf, { longest: 8 + rest.length });
  assertEquals(text, "4#0\n5#0\nand 3 more servers, 8 earlier events");
  assertEquals(reported.length, 5);
});

Deno.test("the newest event of the watch itself is shown, although many servers changed later", () => {
  const watch = eachKind().slice(6);
  const events = [...watch, ...Array.from({ length: 50 }, (_, i) => offline({ port: i + 1 }))];
  const { text, reported } = messageOf(events, ({ event }) => event, { longest: 100 });
  assertEquals(text.split("\n").slice(-2), [
    "watcher_online",
    "and 45 more servers, 1 earlier event",
  ]);
  assertEquals(reported.length, 51);
});

Deno.test("a line that does not fit is cut, also of the newest of several events", () => {
  const long = offline({ name: "é".repeat(100) });
  for (const events of [[long], [offline({ port: 1 }), long]]) {
    const lengthOf = (text: string) => new TextEncoder().encode(text).length;
    const { text } = messageOf(events, nameOf, { longest: 90, lengthOf });
    assert(text.startsWith("éé") && lengthOf(text) <= 90, text);
    assertEquals(text.endsWith("and 1 more server"), events.length > 1);
  }
});

Deno.test("after an outage of the receiver, one message shows the present state of all servers", async () => {
  const clock = new FakeNetwork(1);
  const after = (ms: number) => new Promise<void>((resolve) => clock.after(ms, resolve));
  for (const format of ["discord", "slack", "ntfy"] as const) {
    const messages: { text?: string; content?: string; message?: string; priority?: number }[] = [];
    let isUp = false;
    const outbox = await outboxIn();
    const hook = new Webhook(newReceiver(format, "http://127.0.0.1/topic"), {
      ...{ clock, outbox, report: () => {} },
      fetch: (_, { body }) => {
        if (isUp) messages.push(JSON.parse(new TextDecoder().decode(body as Uint8Array)));
        return Promise.resolve(new Response("", { status: isUp ? 200 : 503 }));
      },
    });
    const state = (round: number) => (port: number) => {
      const [online, offline] = eachKind({ port, name: `s${port}`, id: `${round}-${port}` });
      hook.add(round === 399 || port > 5 ? online : offline);
    };
    for (let round = 0; round < 400; round++) {
      [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].forEach(state(round));
      await clock.run(after(1000));
    }
    isUp = true;
    await clock.run(hook.idle());
    const [{ text = "", content = text, message = content, priority }, ...more] = messages;
    assertEquals(more, [], format);
    const lines = message.split("\n");
    assertEquals(
      lines.slice(0, -1).map((line) => /^(s\d+) \(.*\) is online/.exec(line)?.[1]),
      ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10"],
    );
    assertEquals(lines.at(-1), "and 3,990 earlier events");
    assertEquals(priority, format === "ntfy" ? 3 : undefined);
    assertEquals([hook.delivered, hook.waiting, hook.lost], [4000, 0, 0]);
    await clock.run(hook.close());
  }
});

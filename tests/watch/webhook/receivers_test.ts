/**
 * Messages for Discord, Slack and ntfy, compared with the limits and types in their documentation.
 */
import { assert, assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import fc from "npm:fast-check@4.10.2";
import { InputError } from "../../../src/core/errors.ts";
import type { ServerEvent, WatchEvent } from "../../../src/store/events/watch_event.ts";
import { newReceiver, type Receiver } from "../../../src/watch/webhook/receivers.ts";
import { WEBHOOK_FORMATS } from "../../../src/watch/webhook/webhook_formats.ts";
import { eachKind, offline } from "./events.ts";

const URL_OF = {
  discord: "https://discord.example/api/webhooks/1/T0K3N",
  slack: "https://s.example/T",
};

// deno-lint-ignore no-explicit-any -- the body is what the test examines
function bodyOf(receiver: Receiver, events: readonly WatchEvent[]): any {
  return JSON.parse(new TextDecoder().decode(receiver.body(events)));
}

/** Requires an object with exactly these members. */
function assertMembers(value: object, names: readonly string[]): void {
  assertEquals(Object.keys(value).sort(), names.toSorted());
}

/** https://docs.discord.com/developers/resources/webhook#execute-webhook */
function assertDiscord(body: Record<string, unknown>): string {
  assertMembers(body, ["content", "allowed_mentions", "flags"]);
  const { content, allowed_mentions, flags } = body;
  assert(typeof content === "string" && content.length >= 1 && content.length <= 2000);
  assertEquals([allowed_mentions, flags], [{ parse: [] }, 1 << 2]);
  return content;
}

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
function assertSlack(body: Record<string, unknown>): string {
  assertMembers(body, ["text", "mrkdwn", "unfurl_links", "unfurl_media"]);
  const { text, mrkdwn, unfurl_links, unfurl_media } = body;
  assert(typeof text === "string" && text.length >= 1 && text.length <= 40_000);
  assertEquals([mrkdwn, unfurl_links, unfurl_media], [false, false, false]);
  assertEquals(/[<>]|&(?!(?:amp|lt|gt);)/.exec(text), null);
  return text;
}

/** https://docs.ntfy.sh/publish/#publish-as-json */
function assertNtfy(body: Record<string, unknown>): string {
  assertMembers(body, ["topic", "title", "message", "priority", "tags"]);
  const { topic, title, message, priority, tags } = body;
  assert(typeof topic === "string" && /^[-\w]{1,64}$/.test(topic));
  assert(
    typeof title === "string" && title.length >= 1 && title.length < 250 && !/\p{Cc}/u.test(title),
  );
  assert(typeof message === "string" && new TextEncoder().encode(message).length <= 4096);
  assert(Number.isInteger(priority) && priority as number >= 1 && priority as number <= 5);
  assert(Array.isArray(tags) && tags.every((tag) => /^\w+$/.test(tag)));
  return message;
}

const DISCORD = newReceiver("discord", URL_OF.discord);
const SLACK = newReceiver("slack", URL_OF.slack);
const NTFY = newReceiver("ntfy", "https://ntfy.example/my-topic?auth=T0K3N");

Deno.test("messages of every kind of event have the documented form of each receiver", () => {
  for (const event of eachKind()) {
    const texts = [
      assertDiscord(bodyOf(DISCORD, [event])).replaceAll("\\", ""),
      assertSlack(bodyOf(SLACK, [event])),
      assertNtfy(bodyOf(NTFY, [event])),
    ];
    assertEquals(new Set(texts).size, 1);
    const subject = event.host === null ? "The watch " : "Hypixel (mc.example.org:25565) ";
    assertStringIncludes(texts[0], subject);
  }
  assertEquals(
    bodyOf(DISCORD, [offline()]).content,
    "Hypixel (mc.example.org:25565) is offline, last reply 14:03 UTC",
  );
});

Deno.test("ntfy gets the topic of the URL, a title, a priority and emoji", () => {
  assertEquals(NTFY.url, "https://ntfy.example/?auth=T0K3N");
  const { title, priority, tags, topic } = bodyOf(NTFY, [offline()]);
  assertEquals([topic, title, priority, tags], ["my-topic", "Hypixel is offline", 4, [
    "red_circle",
  ]]);
  const titles = eachKind().map((event) => bodyOf(NTFY, [event]).title);
  assertEquals(titles, [
    "Hypixel is online again after 5 min",
    "Hypixel is offline",
    "Hypixel changed",
    "Hypixel has 2 players online",
    "Hypixel restarted",
    "Hypixel opted out and is no longer polled",
    "The watch is offline",
    "The watch is online again after 70 s",
  ]);
  const all = bodyOf(NTFY, eachKind());
  assertEquals([all.title, all.priority, all.tags.length], ["8 events", 4, 8]);
  for (const url of ["https://ntfy.sh", "https://ntfy.sh/a/b", "https://ntfy.sh/T0%0aK3N"]) {
    const { message } = assertThrows(() => newReceiver("ntfy", url), InputError);
    assert(message.includes("https://ntfy.sh/TOPIC") && !message.includes("K3N"), message);
  }
});

Deno.test("no name of a server formats, mentions, links or breaks a line at any receiver", () => {
  const piece = fc.constantFrom(
    ...["@everyone", "<@1>", "<!channel>", "<https://e.example|x>", "[a](https://e.example)"],
    ...[
      "*",
      "_",
      "~~",
      "||",
      "`",
      "```",
      "> ",
      "# ",
      "- ",
      "1. ",
      "\\",
      "\n",
      "\r",
      "§c",
      "\u202e",
    ],
    ...[
      "\u2066",
      "\u0000",
      "\u2028",
      "&",
      "&lt;",
      "<t:1>",
      "http:/",
      "/",
      "//",
      "x",
      " ",
      "é",
      "🎮",
    ],
  );
  const hostile = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
  fc.assert(
    fc.property(hostile, hostile, (name, player) => {
      const joined = { joined: [player], left: [name] } as Partial<ServerEvent>;
      for (const event of [...eachKind({ name }), eachKind({ name, ...joined })[3]]) {
        const content = assertDiscord(bodyOf(DISCORD, [event]));
        const bare = content.replace(/\\[^a-zA-Z0-9\s]/g, "E"); // E: escaped
        assertEquals(/[\\*_~`|<>[\]#@]|^\d*[-+.)]\s/.exec(bare), null, content);
        for (
          const text of [
            content,
            assertSlack(bodyOf(SLACK, [event])),
            assertNtfy(bodyOf(NTFY, [event])),
          ]
        ) {
          assertEquals(/\p{Cc}|[\u2028-\u202e\u2066-\u2069]|\/\/|§c/u.exec(text), null, text);
        }
      }
    }),
    { seed: 2, numRuns: 300 },
  );
});

Deno.test("no name of a server becomes an invitation to a Discord server", () => {
  const forms = [
    "discord.gg/a",
    "x.DISCORD.GG/a",
    "discord.com/invite/a",
    "discordapp.com/invite/a",
  ];
  for (
    const name of [
      ...forms,
      "discord.gg\\a",
      "disco\u200brd.gg/a",
      "discord.new/a",
      "discord.gift/a",
    ]
  ) {
    for (const event of eachKind({ name })) {
      const { content } = bodyOf(DISCORD, [event]);
      assert(!/discord(?:app)?\./i.test(content), content);
      if (event.name === null) continue;
      assertStringIncludes(content.toLowerCase(), "discord");
    }
  }
});

Deno.test("a message about more servers than fit shows the newest ones, and the number of the others", () => {
  for (
    const [receiver, check] of [[DISCORD, assertDiscord], [SLACK, assertSlack], [
      NTFY,
      assertNtfy,
    ]] as const
  ) {
    for (const size of [1, 2, 7, 31, 32, 33, 100, 1000]) {
      const events = Array.from(
        { length: size },
        (_, i) => offline({ name: `Sêrver_${i}`, port: i + 1 }),
      );
      const lines = check(bodyOf(receiver, events)).split("\n");
      const [, more = "0"] = /^and ([\d,]+) more servers?$/.exec(lines.at(-1)!) ?? [];
      const shown = more === "0" ? lines : lines.slice(0, -1);
      assertEquals(shown.length + Number(more.replace(",", "")), size);
      assert(shown.length >= Math.min(size, 20), `${shown.length}`);
      shown.forEach((line, i) => {
        const number = size - shown.length + i;
        assertStringIncludes(line.replaceAll("\\", ""), `Sêrver_${number} (`);
      });
    }
    assertEquals([receiver.maxEvents, receiver.gatherMs], [10_000, 2000]);
  }
});

Deno.test("a long template is cut to what the receiver accepts", () => {
  const template = { text: "é".repeat(4090) + "{name}", source: "t.txt" };
  assertDiscord(bodyOf(newReceiver("discord", URL_OF.discord, template), eachKind()));
  assertSlack(bodyOf(newReceiver("slack", URL_OF.slack, template), eachKind()));
  assertNtfy(bodyOf(newReceiver("ntfy", "https://ntfy.example/t", template), eachKind()));
});

Deno.test("templates determine the text of messages, and the document for json", () => {
  const text = { text: ":red_circle: **{name}** {event}\n", source: "t.txt" };
  assertEquals(
    bodyOf(newReceiver("discord", URL_OF.discord, text), [offline({ name: "a*b" })]).content,
    ":red_circle: **a\\*b** offline",
  );
  const json = { text: '{"title": "{name}", "port": "{port}", "n": 5}', source: "t.json" };
  const receiver = newReceiver("json", "https://e.example/", json);
  assertEquals(receiver.maxEvents, 1);
  assertEquals(bodyOf(receiver, [offline({ name: 'a"\\' })]), {
    title: 'a"\\',
    port: "25565",
    n: 5,
  });
});

Deno.test("json without a template is an array of the events as they are", () => {
  const events = eachKind();
  const receiver = newReceiver("json", "https://e.example/");
  assertEquals(bodyOf(receiver, events), JSON.parse(JSON.stringify(events)));
  assertEquals([receiver.maxEvents, receiver.gatherMs], [100, 0]);
  assertEquals(WEBHOOK_FORMATS, ["json", "discord", "slack", "ntfy"]);
});

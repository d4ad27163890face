import { assert, assertEquals } from "@std/assert";
import {
  endpointOf,
  eventSentence,
  hostOf,
  playersOf,
  serverOf,
} from "../../../src/watch/webhook/event_sentence.ts";
import { newWatcherEvent } from "../../../src/store/events/watch_event.ts";
import { eachKind, NOW, offline } from "./events.ts";

const asIs = (text: string) => text;
const sentence = (...[over]: Parameters<typeof offline>) => eventSentence(offline(over), asIs);

Deno.test("each kind of event is one readable sentence", () => {
  assertEquals(eachKind().map((event) => eventSentence(event, asIs)), [
    "Hypixel (mc.example.org:25565) is online again after 5 min, 1,200 of 2,000 players, version 1.21",
    "Hypixel (mc.example.org:25565) is offline, last reply 14:03 UTC",
    "Hypixel (mc.example.org:25565) changed: version 1.20 → 1.21, map world → none",
    "Hypixel (mc.example.org:25565) has 2 players online (1 player before); joined: Ann",
    "Hypixel (mc.example.org:25565) restarted",
    "Hypixel (mc.example.org:25565) opted out and is no longer polled",
    "The watch is offline, last reply 14:04 UTC: there is no route to servers",
    "The watch is online again after 70 s",
  ]);
});

Deno.test("a sentence has the address if there is no host name, and only the endpoint without a name", () => {
  assertEquals(
    sentence({ requested_as: null, name: null, host: "2001:db8::1" }),
    "[2001:db8::1]:25565 is offline, last reply 14:03 UTC",
  );
  assertEquals(
    sentence({ requested_as: null, name: null, host: "fe80::1%eth0" }),
    "[fe80::1%eth0]:25565 is offline, last reply 14:03 UTC",
  );
  assertEquals(
    sentence({ requested_as: null }),
    "Hypixel (192.0.2.7:25565) is offline, last reply 14:03 UTC",
  );
});

Deno.test("a last reply on another day has its date", () => {
  const day = 86_400_000;
  const at = (replied_at: number | null) => {
    const event = { ...offline(), replied_at } as ReturnType<typeof offline>;
    return eventSentence(event, asIs).replace(/^.*offline, /, "");
  };
  assertEquals(at(NOW - day), "last reply 2026-11-21 14:05 UTC");
  assertEquals(at(null), "no reply yet");
});

Deno.test("names lose formatting codes, bidi controls, line breaks and links, and are cut", () => {
  const shown = (name: string) => sentence({ name }).replace(/ \(mc.*/s, "");
  assertEquals(shown("§6§lHy\u202epi\u2066xel\r\nis  \u200bonline"), "Hypi" + "xel is online");
  assertEquals(shown("http:/http:///evil.example https://x"), "http:/http:/evil.example https:/x");
  assertEquals(shown("x".repeat(100_000)), `${"x".repeat(59)}…`);
  assertEquals(shown("🎮".repeat(100)).length, 59);
  assert(sentence({ name: "§r\u200b" }).startsWith("mc.example.org:25565 is offline"));
});

Deno.test("many columns and players are cut with a count", () => {
  const [, , changed, players] = eachKind();
  const names = Array.from({ length: 12 }, (_, i) => `p${i}`);
  const joined = { ...players, joined: names } as typeof players;
  assert(eventSentence(joined, asIs).endsWith("joined: p0, p1, p2, p3, p4 and 7 more"));
  const changes = Object.fromEntries(names.map((name) => [name, ["a".repeat(999), null]]));
  const text = eventSentence({ ...changed, changes } as unknown as typeof changed, asIs);
  assert(text.length < 600 && text.endsWith("→ none and 7 more"), text);
});

Deno.test("host, endpoint and name are those of the user, else of the server, and empty for the watch itself", () => {
  const parts = (event: ReturnType<typeof offline>) =>
    [hostOf, endpointOf, serverOf].map((part) => part(event, asIs));
  assertEquals(parts(offline()), ["mc.example.org", "mc.example.org:25565", "Hypixel"]);
  const nameless = offline({ requested_as: null, name: null });
  assertEquals(parts(nameless), ["192.0.2.7", "192.0.2.7:25565", "192.0.2.7:25565"]);
  for (const own of eachKind().slice(6)) assertEquals(parts(own), ["", "", "The watch"]);
  // The longest name of DNS has 253 characters; a longer text is cut.
  const long = (length: number) => hostOf(offline({ requested_as: "x".repeat(length) }), asIs);
  assertEquals(long(253), "x".repeat(253));
  assertEquals(long(254), `${"x".repeat(252)}…`);
  const longest = `${"x".repeat(253)}:25565`;
  assertEquals(endpointOf(offline({ requested_as: "x".repeat(253) }), asIs), longest);
});

Deno.test("an online event has players, their maximum and the version as far as the server gives them", () => {
  const [online] = eachKind();
  if (online.event !== "online") throw new Error(online.event);
  const of = (server: Partial<typeof online.server>, offline_ms: number | null = null) => {
    const event = { ...online, server: { ...online.server, ...server }, offline_ms };
    return [eventSentence(event, asIs).replace(/^.*\) is online/, ""), playersOf(event)];
  };
  const none = { players_online: null, players_max: null, version: null };
  assertEquals(of(none), ["", ""]);
  assertEquals(of(none, 60_000), [" again after 60 s", ""]);
  assertEquals(of({ ...none, players_online: 0 }), [", 0 players", "0"]);
  assertEquals(of({ ...none, players_max: 20 }), ["", ""]);
  assertEquals(of({ ...none, players_online: 3, players_max: 20 }), [", 3 of 20 players", "3"]);
  assertEquals(of({ ...none, version: "1.21" }), [", version 1.21", ""]);
});

Deno.test("a player count that a reply lacks is an unknown number", () => {
  const players = (counts: readonly [unknown, unknown], over: object = {}) => {
    const event = { ...eachKind()[3], players_online: counts, joined: undefined, left: undefined };
    return eventSentence({ ...event, ...over } as ReturnType<typeof offline>, asIs)
      .replace(/^.*\) has /, "");
  };
  assertEquals(players([null, 1]), "1 player online (an unknown number before)");
  assertEquals(players([2, null]), "an unknown number online (2 players before)");
  assertEquals(
    players([2, 1], { left: ["Ann", "Bob"], joined: ["Eve"] }),
    "1 player online (2 players before); joined: Eve; left: Ann, Bob",
  );
  const names = ["a", "b", "c", "d", "e"];
  assertEquals(players([5, 0], { left: names }).split("; ")[1], "left: a, b, c, d, e");
  assertEquals(
    players([6, 0], { left: [...names, "f"] }).split("; ")[1],
    "left: a, b, c, d, e and 1 more",
  );
});

Deno.test("the sentence of a summary names an interrupted scan and an import", () => {
  const counts = { new: 1, back: 2, lost: 3, reported: 0 };
  const numbers =
    "found 1 new server and 2 servers again, and missed 3 servers that had replied before";
  const summary = (scan_id: string | null, state?: "finished" | "interrupted") => {
    const body = { event: "scan_summary", ...counts, state } as const;
    const event = newWatcherEvent({ at: NOW, id: "1", scan_id: "2" }, body);
    return eventSentence({ ...event, scan_id }, asIs);
  };
  assertEquals(summary("2", "finished"), `A scan ${numbers}`);
  assertEquals(summary("2", "interrupted"), `An interrupted scan ${numbers}`);
  assertEquals(summary(null), `An import ${numbers}`);
});

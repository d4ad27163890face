/**
 * Badges, banners and shields' endpoint. Covers src/web/status/badge_facts.ts,
 * src/web/status/badge_images.tsx, src/web/status/badge_routes.ts and src/web/status/status_answers.ts.
 */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { StatusQuery, StoredStatus } from "../../../src/web/queries/dashboard_data.ts";
import type { ListedServer } from "../../../src/web/queries/schemas.ts";
import { svgText, textWidth } from "../../../src/web/status/badge_facts.ts";
import { NASTY } from "../../store/records.ts";
import { fakeData, listedServer, NOW } from "../fake_data.ts";
import { type Client, clientOf } from "../http/client.ts";

const JAVA: Partial<ListedServer> = {
  ...{ edition: "java", protocols: ["slp"], motd: "§aHello\n  §lworld", version: "1.21.1" },
  ...{ players_online: 3, players_max: 20 },
};
const ICON = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
/** Half of 30 days watched, and three quarters of that online. */
const UPTIME = {
  ...{ watchedS: 15 * 86_400, onlineS: 11.25 * 86_400, playerS: 0 },
  ...{ playersMin: null, playersMax: null, watchedShare: 0.5, polls: 4320 },
};

/** A status service with one server, or none; it has the uptime only if that is wanted. */
function service(server: Partial<ListedServer> | undefined): Client {
  const status = ({ hasUptime }: StatusQuery): Promise<StoredStatus | undefined> => {
    const found = server && { server: listedServer(1, server), icon: ICON };
    return Promise.resolve(found && hasUptime ? { ...found, uptime: UPTIME } : found);
  };
  return clientOf({ statusApi: { hasNames: true }, data: fakeData({ status }) });
}

const ONLINE = service(JAVA);
const OFFLINE = service({ ...JAVA, online: false });
const UNKNOWN = service(undefined);

const IMAGES = ["badge", "banner"].flatMap((
  kind,
) => [`/${kind}/a.example`, `/bedrock/${kind}/10.0.0.1`]);

Deno.test("shields' endpoint has the members that shields accepts, and no others", async () => {
  for (
    const [get, message, color] of [
      [ONLINE, "3/20", "brightgreen"],
      [OFFLINE, "offline", "red"],
      [UNKNOWN, "unknown", "lightgrey"],
      [service({ ...JAVA, players_online: null, players_max: null }), "online", "brightgreen"],
      [service({ ...JAVA, players_max: null }), "3/–", "brightgreen"],
    ] as const
  ) {
    const { status, text } = await get("GET /shields/Play.Example.org:25566");
    assertEquals(status, 200);
    assertEquals(JSON.parse(text), {
      schemaVersion: 1,
      label: "play.example.org:25566",
      message,
      color,
      cacheSeconds: 60,
    });
  }
});

Deno.test("labels are addresses as they were requested, and never too long", async () => {
  const label = async (address: string) =>
    JSON.parse((await ONLINE(`GET /shields/${address}`)).text).label;
  assertEquals(await label("[2001:db8::1]:25566"), "[2001:db8::1]:25566");
  assertEquals(await label("2001:db8::1"), "2001:db8::1");
  assertEquals(await label("10.0.0.1"), "10.0.0.1");
  assertEquals([...await label(`${"a".repeat(60)}.example`)].length, 40);
});

Deno.test("a badge has its text, its title and the colour of its state", async () => {
  for (
    const [get, message, color] of [
      [ONLINE, "3/20", "#2f7d32"],
      [OFFLINE, "offline", "#c23b2e"],
      [UNKNOWN, "unknown", "#6b6b6b"],
    ] as const
  ) {
    const { headers, text } = await get("GET /badge/a.example");
    assertEquals(headers["content-type"], "image/svg+xml;charset=utf-8");
    assertStringIncludes(text, `role="img" aria-label="a.example: ${message}"`);
    assertStringIncludes(text, `<title>a.example: ${message}</title>`);
    assertStringIncludes(text, `fill="${color}"`);
    assertEquals(text.match(/textLength="\d+"/g)?.length, 2);
    assertEquals(text.match(/height="20"/g)?.length, 2);
  }
});

Deno.test("a banner has icon, MOTD in its colours, players, version, and uptime beside what was watched", async () => {
  const { text } = await ONLINE("GET /banner/a.example?size=560x95&theme=dark");
  assertStringIncludes(text, 'width="560" height="95"');
  assertStringIncludes(text, 'href="data:image/png;base64,iVBORw=="');
  assertStringIncludes(text, '<tspan fill="#55ff55">Hello</tspan>');
  assertStringIncludes(text, 'font-weight="bold">world</tspan>');
  assertStringIncludes(text, "3/20 players · 1.21.1 · 30 d: 75 % up, 50 % watched");
  assertStringIncludes((await ONLINE("GET /banner/a.example")).text, 'width="468" height="60"');
  const offline = (await OFFLINE("GET /banner/a.example")).text;
  const at = new Date(NOW).toISOString().slice(0, 16).replace("T", " ");
  assertStringIncludes(offline, `Offline, last reply ${at} UTC`);
  assert(!/Hello|image\/png|players/.test(offline));
  assertStringIncludes((await UNKNOWN("GET /banner/a.example")).text, "not in the database");
});

Deno.test("images are safe behind a proxy: no scripts, links or references, also with hostile texts", async () => {
  const hostile = `§c<script>alert(1)</script>" onload="x" ' &\u202e\u001b[2J\ufffe`;
  for (const text of [hostile, ...NASTY]) {
    const server = { ...JAVA, motd: text, version: text, software: text, map: text };
    const [java, bedrock] = [service(server), service({ ...server, edition: "bedrock" })];
    for (const path of IMAGES) {
      for (const theme of ["light", "dark"]) {
        const get = path.startsWith("/bedrock") ? bedrock : java;
        const { status, headers, text } = await get(`GET ${path}?theme=${theme}`);
        assertEquals(status, 200);
        assertEquals(
          headers["content-security-policy"],
          "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
        );
        assertWellFormed(text);
        assert(text.length < 5000);
      }
    }
  }
});

const ELEMENTS = ["svg", "title", "rect", "path", "circle", "g", "text", "tspan", "image"];

/** Checks that an image is well-formed XML of these elements, without references to other files. */
function assertWellFormed(svg: string): void {
  assert(!/[\p{Cc}\p{Cs}\ufffe\uffff\u202a-\u202e\u2066-\u2069]/u.test(svg));
  const open: string[] = [];
  const rest = svg.replace(
    /<(\/?)([a-z]+)((?: [a-zA-Z-]+="[^"<>]*")*)(\/?)>/g,
    (_, closes, name, attributes, isEmpty) => {
      assert(ELEMENTS.includes(name), name);
      assert(!/ on|[a-z]+:\/\/(?!www\.w3\.org\/2000\/svg")/.test(attributes), attributes);
      if (closes) assertEquals(open.pop(), name);
      else if (!isEmpty) open.push(name);
      return "";
    },
  );
  assertEquals(open, []);
  assert(!/[<>"']/.test(rest), rest);
  assert(!/&(?!amp;|lt;|gt;|quot;|#39;)/.test(rest), rest);
  for (const [, target] of svg.matchAll(/href="([^"]*)"/g)) {
    assert(target.startsWith("data:image/png;base64,"));
  }
}

Deno.test("other themes, sizes and addresses are errors that name what is wanted", async () => {
  for (
    const [path, wanted] of [
      ["/badge/a.example?theme=pink", "Cannot use theme=pink: expected one of light, dark"],
      ["/banner/a.example?size=1x1", "Cannot use size=1x1: expected one of 468x60, 560x95"],
      ["/banner/a..b", "Invalid address value"],
      ["/badge/a..b", "Invalid address value"],
      ["/bedrock/shields/a..b", "Invalid address value"],
    ]
  ) {
    const { status, text } = await ONLINE(`GET ${path}`);
    assertEquals([status, text], [400, wanted]);
  }
});

Deno.test("texts of images are on one line, of XML's characters; widths grow with texts and sizes", () => {
  assertEquals(svgText("a\u0000b\ud800\uffff\n"), "a␀b\ufffd\ufffd␊");
  assert(textWidth("iii", 11) < textWidth("aaa", 11));
  assert(textWidth("aaa", 11) < textWidth("MMM", 11));
  assert(textWidth("aaa", 11) < textWidth("aaa", 22));
  assertEquals(textWidth("世", 10), 10);
});

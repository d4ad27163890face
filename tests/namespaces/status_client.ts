// deno-lint-ignore-file no-console
/**
 * The clients of status_modes.sh, and the check of what their requests have sent.
 *
 *     deno run -A tests/namespaces/status_client.ts MODE [CAPTURE]
 *
 * CAPTURE is the output of tcpdump. Without it, the requests are sent.
 */
import { assert, assertEquals } from "@std/assert";
import {
  LEADS_ASTRAY,
  NOT_LOOKED_UP,
  PUBLIC,
  SERVICES,
} from "../app/status_api/hostile_targets.ts";

const [mode, capture] = Deno.args;
const names = [...LEADS_ASTRAY, ...SERVICES].map(([name]) => name);
/** The names that a client may cause to be looked up in the mode `open`. */
const LOOKED_UP = new Set(
  ["play.example.org", "rebinding.example", ...names, ...SERVICES.map(([, host]) => host)]
    .flatMap((name) => [`${name}.`, `_minecraft._tcp.${name}.`]),
);
/** At most 600 requests a minute may need a probe. */
const PAUSE_MS = 110;

let clients = 0;
async function request(path: string, text: string): Promise<{ status: number; online: boolean }> {
  const word = text.includes("%") ? text : encodeURIComponent(text);
  const client = `203.0.${clients >> 8 & 255}.${clients++ & 255}`;
  const response = await fetch(`http://127.0.0.1:8421/${path}/${word}`, {
    headers: { "x-forwarded-for": client },
    redirect: "manual",
  });
  const body = await response.text();
  await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  return { status: response.status, online: body.includes('"online":true') };
}

async function send(): Promise<void> {
  const texts = [...NOT_LOOKED_UP, ...names].filter((text) => text !== "");
  for (const text of texts) {
    for (const path of ["3", "bedrock/3", "v2/status/java"]) {
      const { status, online } = await request(path, text);
      assert([200, 400, 404].includes(status), `${path}/${text}: ${status}`);
      assert(!online, `${path}/${text} is online`);
    }
  }
  const online = (await request("3", PUBLIC)).online;
  assertEquals(online, mode !== "database");
  if (mode === "open") {
    assertEquals((await request("3", "play.example.org:25566")).online, true);
    await request("3", "rebinding.example");
  }
  console.log(`${mode}: ${texts.length} hostile addresses and names, each in 3 routes`);
}

/** The packets by their destinations, without replies of servers that may be probed. */
function check(text: string): void {
  const packets = new Map<string, number>();
  const queried = new Set<string>();
  for (const line of text.split("\n").filter((line) => line !== "")) {
    const [, from, to] = / (\S+) > (\S+): /.exec(line) ?? ["", line, line];
    const [, name] = / (?:A|AAAA|SRV)\? (\S+) /.exec(line) ?? [];
    if (name !== undefined) queried.add(name.toLowerCase());
    if ([from, to].includes("127.123.0.53.53") || line.includes(" ICMP ")) continue;
    if (from === `${PUBLIC}.25565` || from === `${PUBLIC}.25566`) continue;
    packets.set(to, (packets.get(to) ?? 0) + 1);
  }
  const expected = {
    database: [],
    allow: [`${PUBLIC}.25565`],
    open: [`${PUBLIC}.25565`, `${PUBLIC}.25566`],
  }[mode];
  console.log(`${mode}: packets ${JSON.stringify([...packets])}, ${queried.size} names looked up`);
  assertEquals([...packets.keys()].sort(), expected);
  if (mode === "open") assertEquals([...queried].filter((name) => !LOOKED_UP.has(name)), []);
  else assertEquals([...queried], []);
}

if (capture === undefined) await send();
else check(await Deno.readTextFile(capture));

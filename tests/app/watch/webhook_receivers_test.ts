/**
 * Watches that send to receivers on loopback, as real processes: each format, templates, a rate limit
 * and a refusal.
 *
 * Covers src/watch/webhook/receivers.ts, src/watch/webhook/webhook_formats.ts and
 * src/watch/webhook/template.ts.
 */
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { formatEndpoint } from "../../../src/core/address.ts";
import { drawFleet } from "../../../src/fleet/simulate/draw_fleet.ts";
import { openFleet } from "../../../src/fleet/simulate/open_fleet.ts";
import { systemClock } from "../../../src/net/clock.ts";
import { finish, start, until } from "../../cli/program.ts";
import { inFolder } from "../resume/stopped_programs.ts";
import { longTest } from "../../long.ts";

/** A request of a webhook. */
interface Received {
  readonly path: string;
  // deno-lint-ignore no-explicit-any -- the body is what the test examines
  readonly body: any;
  readonly at: number;
}

/** Receives requests; `reply` gets the number of requests before, and the body. */
function receive(reply: (before: number, body: string) => Response) {
  const requests: Received[] = [];
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, async (one) => {
    const text = await one.text();
    assertEquals([one.method, one.headers.get("content-type")], ["POST", "application/json"]);
    const before = requests.length;
    const { pathname } = new URL(one.url);
    requests.push({ path: pathname, body: JSON.parse(text), at: performance.now() });
    return reply(before, text);
  });
  return {
    requests,
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Runs a watch of simulated servers, until a number of requests came. */
async function watched(
  options: readonly string[],
  { requests }: { readonly requests: readonly Received[] },
  count: number,
  servers = 1,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  const hosts = drawFleet({
    ...{ servers, range: { start: 0x7f370000, end: 0x7f370100 }, seed: 2 },
    software: ["pocketmine"],
  });
  await using _fleet = await openFleet(hosts, { clock: systemClock, seed: 1 });
  const endpoints = hosts.map(({ endpoint }) => formatEndpoint(endpoint));
  const child = start([
    "watch",
    ...endpoints,
    "--interval",
    "5s",
    "--protocol",
    "raknet",
    ...options,
  ]);
  await until(child, () => requests.length >= count);
  child.kill("SIGINT");
  return await finish(child);
}

const SENTENCE = /^.+ \(127\.55\.\d+\.\d+:\d+\) is online, \d+ of \d+ players, version .+$/;

longTest(
  "Discord gets the text of a template again, when the time of its Retry-After has passed",
  async () => {
    await inFolder(async (folder) => {
      await using receiver = receive((before) =>
        before > 0
          ? new Response(null, { status: 204 })
          : Response.json({ retry_after: 2.5 }, { status: 429, headers: { "retry-after": "2.5" } })
      );
      const template = `${folder}/template.txt`;
      await Deno.writeTextFile(template, "**{endpoint}** {event}\n");
      const { stderr } = await watched(
        [
          ...["--webhook", `${receiver.url}/T0K3N`, "--webhook-format", "discord"],
          ...["--webhook-template", template, "--webhook-outbox", `${folder}/outbox`],
        ],
        receiver,
        2,
      );
      const [first, second] = receiver.requests;
      assertEquals(first.path, "/T0K3N");
      assertMatch(second.body.content, /^\*\*127\.55\.0\.\d+:\d+\*\* online$/);
      assert(second.at - first.at >= 2500, String(second.at - first.at));
      assertStringIncludes(stderr, "webhook delivery failed (HTTP status 429): events are queued");
      assertStringIncludes(stderr, "webhook: 1 delivered, 0 waiting, 0 lost");
      assert(!stderr.includes("T0K3N"), stderr);
    });
  },
);

Deno.test("Slack and ntfy get messages in the form of their documentation", async () => {
  await inFolder(async (folder) => {
    await using slack = receive(() => new Response("ok"));
    await watched(
      [
        ...["--webhook", `${slack.url}/services/T/B/X`, "--webhook-format", "slack"],
        ...["--webhook-outbox", `${folder}/slack`],
      ],
      slack,
      1,
    );
    const [{ path, body: { text, ...flags } }] = slack.requests;
    assertEquals(path, "/services/T/B/X");
    assertMatch(text, SENTENCE);
    assertEquals(flags, { mrkdwn: false, unfurl_links: false, unfurl_media: false });

    await using ntfy = receive(() => Response.json({ id: "x" }));
    await watched(
      [
        ...["--webhook", `${ntfy.url}/my-topic`, "--webhook-format", "ntfy"],
        ...["--webhook-outbox", `${folder}/ntfy`],
      ],
      ntfy,
      1,
    );
    const [{ path: root, body: { message, ...others } }] = ntfy.requests;
    assertEquals(root, "/");
    assertMatch(message, SENTENCE);
    const [name] = message.split(" (127.55.");
    const rest = { topic: "my-topic", title: `${name} is online`, priority: 3 };
    assertEquals(others, { ...rest, tags: ["green_circle"] });
  });
});

Deno.test("an event that a receiver of JSON templates refuses is reported once, and not repeated", async () => {
  await inFolder(async (folder) => {
    await using receiver = receive((before) =>
      new Response("", { status: before > 0 ? 200 : 400 })
    );
    const template = `${folder}/template.json`;
    await Deno.writeTextFile(template, '{"title": "{event}", "text": ["{endpoint}"], "n": 5}');
    const { stderr } = await watched(
      [
        ...["--webhook", `${receiver.url}/T0K3N`, "--webhook-template", template],
        ...["--webhook-outbox", `${folder}/outbox`],
      ],
      receiver,
      2,
      2,
    );
    const [refused, accepted] = receiver.requests.map(({ body }) => body);
    for (const { title, n } of [refused, accepted]) assertEquals([title, n], ["online", 5]);
    assert(refused.text[0] !== accepted.text[0]);
    assertEquals(receiver.requests.length, 2);
    assertStringIncludes(stderr, "webhook events are lost: HTTP status 400");
    assertStringIncludes(stderr, "webhook: 1 delivered, 0 waiting, 1 lost");
  });
});

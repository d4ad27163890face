/** The policy of interviews, with random outcomes and for each rule. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { Random } from "../../src/fleet/random.ts";
import {
  GAP_MS,
  Interview,
  type InterviewEvent,
  type InterviewPlan,
} from "../../src/inspect/interview.ts";
import { InputError } from "../../src/core/errors.ts";
import { PROTOCOLS } from "../../src/protocols/list.ts";

const named = (...names: string[]) => names.map((name) => PROTOCOLS.find((p) => p.name === name)!);
const NAMES = PROTOCOLS.map(({ name }) => name);
const ALL = { protocols: PROTOCOLS, timeoutMs: 1500 };

type Replies = Record<string, Partial<InterviewEvent> & { readonly kind: InterviewEvent["kind"] }>;

interface Sent {
  readonly name: string;
  readonly at: number;
  readonly medium: string;
  readonly timeoutMs: number | undefined;
}

/**
 * Runs an interview with an endpoint that replies in a given way. Lists the datagrams sent to it.
 */
function hold(
  plan: Omit<InterviewPlan, "allProtocols"> & Partial<InterviewPlan>,
  replies: Replies,
) {
  const interview = new Interview({ allProtocols: PROTOCOLS, ...plan });
  const sent: Sent[] = [];
  for (let now = 0, step; (step = interview.next(now)) !== undefined;) {
    now = Math.max(now, step.at);
    const { protocol: { name, transport, suppressedBy }, medium, timeoutMs } = step;
    sent.push({ name, at: now, medium, timeoutMs });
    const { kind, ...rest } = replies[name] ?? { kind: "noReply" as const };
    const came = kind === "replied" || kind === "malformed";
    const suppresses = transport === "udp" && suppressedBy === undefined && came;
    const noReplySince = came || transport === "tcp" ? undefined : now;
    interview.recordResult(step, { suppresses, noReplySince, latencyMs: 20, kind, ...rest });
    now += came ? 20 : timeoutMs ?? 3000;
  }
  return { sent, names: sent.map(({ name }) => name), interview };
}

const OK = { kind: "replied" } as const;

Deno.test("interview: the rules apply for any outcomes", () => {
  const random = new Random(11);
  const some = <T>(all: readonly T[]) => all.filter(() => random.below(2) === 0);
  const KINDS = ["replied", "noReply", "malformed", "cancelled"] as const;
  for (let i = 0; i < 20_000; i++) {
    const protocols = some(PROTOCOLS);
    const known = some(NAMES);
    const sighted = random.below(3) === 0 && protocols.length > 0
      ? protocols[random.below(protocols.length)].name
      : undefined;
    const echoed = new Set(some(NAMES));
    const interview = new Interview({
      ...{
        protocols,
        allProtocols: PROTOCOLS,
        known,
        sighted,
        timeoutMs: 100 + random.below(2000),
      },
      followUps: some(PROTOCOLS),
      latencyMs: random.below(2) === 0 ? null : random.below(500),
      needs: ([undefined, "reply", "status"] as const)[random.below(3)],
      echoed,
    });
    const spoken = new Set([...known, ...sighted === undefined ? [] : [sighted]]);
    const others = ["raknet", "query"].some((name) => spoken.has(name));
    const proved = known.includes("sqp") || sighted === "sqp" && echoed.has("sqp");
    const trusted = proved && !others;
    let [now, replied, over, pinged] = [random.below(1000), others, false, false];
    let unanswered: number | undefined;
    const sent = new Set<string>();
    for (let step; (step = interview.next(now)) !== undefined;) {
      const { protocol: { name, transport, suppressedBy }, at, medium, timeoutMs } = step;
      const reported = `${name} in ${[...sent]}, known ${[...spoken]}`;
      assert(!over, `after the end: ${reported}`);
      assert(!sent.has(name), `twice: ${reported}`);
      assertEquals(interview.next(now), step); // the step is the same until its result is recorded
      if (name === "sqp") assert(!replied && (trusted || pinged), reported);
      if (name === "raknet") assert(!trusted, reported);
      now = Math.max(now, at);
      if (transport === "udp" && unanswered !== undefined) {
        assert(now - unanswered >= GAP_MS, reported);
      }
      assertEquals(medium === "stream", transport === "tcp");
      if (transport === "udp") assert(timeoutMs! >= 100);
      sent.add(name);
      pinged ||= name === "raknet";
      const kind = KINDS[random.below(10) < 9 ? random.below(3) : 3];
      const foreign = suppressedBy !== undefined && kind === "malformed" && random.below(2) === 0;
      const stray = transport === "udp" && suppressedBy === undefined &&
        (kind === "replied" || kind === "malformed" || random.below(5) === 0);
      const sentAt = now + random.below(200);
      now = sentAt + random.below(300);
      // The last request may have no reply even if the first one had one.
      const unresponsive = kind === "noReply" || random.below(3) === 0;
      const noReplySince = transport === "udp" && unresponsive ? sentAt : undefined;
      const latencyMs = 1 + random.below(300);
      const result = { kind, suppresses: foreign || stray, noReplySince, latencyMs };
      interview.recordResult(step, result);
      replied ||= result.suppresses;
      if (transport === "udp") unanswered = noReplySince;
      over = kind === "cancelled";
      if (random.below(20) === 0) {
        interview.stop("optedOut");
        over = true;
      }
      if (random.below(20) === 0) {
        interview.noteSuppression();
        replied = true;
      }
    }
  }
});

Deno.test("interview: known protocols come first, then those of the list, suppressible ones last", () => {
  assertEquals(hold(ALL, {}).names, ["raknet", "nethernet", "slp", "query", "sqp"]);
  const streams = ["nethernet", "slp"];
  assertEquals(hold({ ...ALL, sighted: "query" }, { query: OK }).names, [
    "query",
    "raknet",
    ...streams,
  ]);
  assertEquals(hold({ ...ALL, known: ["slp"] }, {}).names, [
    "slp",
    "raknet",
    "nethernet",
    "query",
    "sqp",
  ]);
  assertEquals(hold({ ...ALL, known: ["sqp"] }, {}).names, ["sqp", ...streams, "query"]);
  assertEquals(hold({ ...ALL, known: ["raknet"] }, {}).names, ["raknet", ...streams, "query"]);
  assertEquals(hold({ ...ALL, known: ["query", "sqp"] }, {}).names, [
    "query",
    "raknet",
    ...streams,
  ]);
});

Deno.test("interview: a suppressible protocol is used only after its suppressor had no reply", () => {
  const sqp = { protocols: named("sqp"), timeoutMs: 1500 };
  assertEquals(hold(sqp, {}).names, ["raknet", "sqp"]);
  for (
    const raknet of [OK, { kind: "malformed" }, { kind: "noReply", suppresses: true }] as const
  ) {
    const { names, interview } = hold(sqp, { raknet });
    assertEquals([names, interview.suppressed], [["raknet"], ["sqp"]]);
  }
  assertEquals(hold(ALL, { query: { kind: "malformed" } }).names, NAMES.slice(0, -1));
  assertEquals(hold(ALL, { slp: OK }).names, NAMES); // no datagram
  // A detecting exchange without a reply does not lead to follow-ups.
  const followUps = named("slp");
  assertEquals(hold({ ...sqp, followUps }, { raknet: OK }).names, ["raknet"]);
  assertEquals(hold({ ...sqp, followUps }, { sqp: OK }).names, ["raknet", "sqp", "slp"]);
});

Deno.test("interview: a pause of a second follows a missing reply over UDP, and nothing else", () => {
  const fast = { ...ALL, protocols: named("raknet", "slp", "query"), timeoutMs: 100 };
  const at = (replies: Replies) => hold(fast, replies).sent.map(({ at }) => at);
  assertEquals(at({}), [0, 100, 3100]);
  assertEquals(at({ slp: OK }), [0, 100, 1000]);
  assertEquals(at({ raknet: OK, slp: OK }), [0, 20, 40]);
});

Deno.test("interview: follow-ups wait for 4 round trips, at least 250 ms; connections open as usual", () => {
  const times = (plan: Partial<InterviewPlan>, replies: Replies = {}) =>
    hold({ ...ALL, protocols: named("raknet", "slp", "query"), ...plan }, replies)
      .sent.map(({ timeoutMs }) => timeoutMs);
  assertEquals(times({}), [1500, undefined, 1500]);
  assertEquals(times({}, { raknet: OK }), [1500, 250, 250]);
  assertEquals(times({}, { raknet: { ...OK, latencyMs: 100 } }), [1500, 400, 400]);
  assertEquals(times({ sighted: "raknet", latencyMs: 100 }, { raknet: OK }), [1500, 400, 400]);
});

Deno.test("interview: a protocol whose replies may lack the token gets a socket of its own, until a reply has the token", () => {
  const media = (echoed: string[]) =>
    hold({ ...ALL, echoed: new Set(echoed) }, {}).sent.map(({ medium }) => medium);
  assertEquals(media([]), ["exclusive", "stream", "stream", "shared", "exclusive"]);
  assertEquals(media(["raknet"]), ["shared", "stream", "stream", "shared", "exclusive"]);
});

Deno.test("interview: it ends when a required first reply is missing", () => {
  const sent = (needs: InterviewPlan["needs"], raknet: Replies[string]) => {
    const { names, interview: { ended } } = hold({ ...ALL, sighted: "raknet", needs }, { raknet });
    return [names.length, ended];
  };
  assertEquals(sent("status", { kind: "malformed" }), [1, "unconfirmed"]);
  assertEquals(sent("reply", { kind: "malformed" }), [4, undefined]);
  assertEquals(sent("reply", { kind: "noReply" }), [1, "unconfirmed"]);
  assertEquals(sent(undefined, { kind: "noReply" }), [4, undefined]);
  assertEquals(sent(undefined, { kind: "cancelled" }), [1, "cancelled"]);
});

Deno.test("interview: a reply that may be forged leads to no SQP without a RakNet ping before", () => {
  const protocols = named("raknet", "sqp");
  const plan = { ...ALL, protocols, sighted: "sqp" };
  assertEquals(hold(plan, { raknet: OK, sqp: OK }).names, ["raknet"]);
  assertEquals(hold(plan, { sqp: OK }).names, ["raknet", "sqp"]);
  // RakNet was probed before, or the reply is proved: an SQP server is not pinged again.
  assertEquals(hold({ ...plan, withoutReply: new Set(["raknet"]) }, { sqp: OK }).names, ["sqp"]);
  assertEquals(hold({ ...plan, echoed: new Set(["sqp"]) }, { sqp: OK }).names, ["sqp"]);
});

Deno.test("a protocol is refused if the list lacks its suppressor", () => {
  const [sqp] = named("sqp");
  const plan = { protocols: [sqp], timeoutMs: 1500, allProtocols: [sqp] };
  assertThrows(
    () => new Interview(plan).next(0),
    InputError,
    'Cannot use protocol "sqp": the list of protocols lacks "raknet", which suppresses it',
  );
  const names = PROTOCOLS.map(({ name }) => name);
  assertEquals(new Set(names).size, names.length);
  for (const { suppressedBy } of PROTOCOLS) {
    assert(suppressedBy === undefined || names.includes(suppressedBy));
  }
});

Deno.test("interview: an endpoint that replied over TCP, or accepts no connection, gets no other TCP protocol", () => {
  const { names } = hold(ALL, { nethernet: OK });
  assertEquals(names, ["raknet", "nethernet", "query", "sqp"]);
  const known = hold({ ...ALL, known: ["slp"] }, { slp: OK, nethernet: OK }).names;
  assertEquals(known, ["slp", "raknet", "query", "sqp"]);
  const both = hold({ ...ALL, known: ["slp", "nethernet"] }, { slp: OK, nethernet: OK }).names;
  assertEquals(both, ["nethernet", "slp", "raknet", "query", "sqp"]);
  const closed = hold(ALL, { nethernet: { kind: "noReply", noStream: true } }).names;
  assertEquals(closed, ["raknet", "nethernet", "query", "sqp"]);
  const { names: others } = hold(ALL, { nethernet: { kind: "noReply" } }); // it opened, and was closed
  assertEquals(others, NAMES);
});

Deno.test("interview: NetherNet comes after Server List Ping, except on its own port", () => {
  const order = (port: number) =>
    hold({ ...ALL, protocols: named("nethernet", "slp"), port }, {}).names;
  assertEquals(order(19132), ["nethernet", "slp"]);
  assertEquals(order(25565), ["slp", "nethernet"]);
  assertEquals(order(4000), ["slp", "nethernet"]);
});

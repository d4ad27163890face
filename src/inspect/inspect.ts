/**
 * From a sighting to a row: every selected protocol is asked, one after the other.
 *
 * @module
 */
import type { Endpoint } from "../address.ts";
import { sleep } from "../net/clock.ts";
import type { Link } from "../net/socket.ts";
import type { Protocol, Statement } from "../protocols/protocol.ts";
import type { Outcome, Sighting } from "../record.ts";
import type { Answer } from "./merge.ts";
import { attempt, followUpTimeout, type Patience, restOfGap } from "./attempt.ts";
import { verify } from "./verify.ts";

/** How to inspect. */
export interface InspectOptions extends Patience {
  /** The protocols to ask, in order. */
  readonly protocols: readonly Protocol[];
  /** Whether the protocols that did not sight the server are asked too. */
  readonly follow: boolean;
  /** How long to wait for an answer, milliseconds. */
  readonly timeoutMs: number;
  /** A conversation on one of the shared sockets. */
  readonly link: (endpoint: Endpoint, socket: number) => Link;
  /** A conversation on a socket of its own. */
  readonly soleLink: (endpoint: Endpoint) => Link;
  /** Whether protocols find out if a server that answered can be used. Default: no. */
  readonly verify?: boolean;
  /** A conversation over TCP, which bounds its time by itself; without it none is held. */
  readonly streamLink?: (
    endpoint: Endpoint,
    protocol: string,
    latencyMs: number | null,
  ) => Promise<Link>;
  /** The name under which an endpoint was asked for. */
  readonly nameOf?: (endpoint: Endpoint) => string | null | undefined;
  /** Whether what was said so far forbids to go on. */
  readonly stop: (answer: Answer) => boolean;
}

/** What an inspection found. */
export interface Inspection {
  /** What each protocol said; empty when nothing was confirmed. */
  readonly answers: readonly Answer[];
  /** Round trip, milliseconds; `null` when it could not be told. */
  readonly latencyMs: number | null;
  /** Whether it was stopped by what was said. */
  readonly stopped: boolean;
  /** Whether a question after the first was cut off, or not asked, because all had to end. */
  readonly cut: boolean;
  /** How the first exchange ended, when it was needed and found no status. */
  readonly failure?: "silent" | "malformed" | "cancelled";
}

/** What a sweep learned longer ago is not built upon: tokens do not live for ever. */
const STALE_MS = 5000;

/**
 * What a sighting says by itself.
 *
 * @returns `undefined` where there is somebody to be asked: it holds no status, or that is not all
 * that is wanted.
 */
export function settled(
  sighting: Sighting,
  { protocols, follow, verify, stop }: Pick<
    InspectOptions,
    "protocols" | "follow" | "verify" | "stop"
  >,
): Inspection | undefined {
  const { protocol: name, status, raw, latencyMs = null } = sighting;
  if (status === undefined || verify || follow && protocols.length > 1) return undefined;
  const protocol = protocols.find((one) => one.name === name)!;
  const answer = { protocol: name, statement: protocol.record(status), raw };
  return { answers: [answer], latencyMs, stopped: stop(answer), cut: false };
}

/** Inspects one sighting. */
export async function inspect(sighting: Sighting, options: InspectOptions): Promise<Inspection> {
  const { protocols } = options;
  const first = protocols.find(({ name }) => name === sighting.protocol)!;
  const opening = await openingAnswer(first, sighting, options);
  const { answer, failure } = opening;
  let { latencyMs } = opening;
  if (answer === undefined) return { answers: [], latencyMs, stopped: false, cut: false, failure };
  if (options.stop(answer)) return { answers: [answer], latencyMs, stopped: true, cut: false };
  const verified = await verifyWanted(first, answer, opening.status, sighting, latencyMs, options);
  const answers = [verified.answer];
  const spoke = new Set([first.name]);
  let { cut } = verified;
  let silent = false;
  for (const protocol of options.follow ? protocols : []) {
    if (protocol === first || protocol.transport === "tcp" && !options.streamLink) continue;
    if (protocol.spares !== undefined && spoke.has(protocol.spares)) continue;
    const timeoutMs = latencyMs === null ? options.timeoutMs : followUpTimeout(latencyMs);
    const stream = protocol.transport === "tcp";
    if (silent && !stream) await sleep(options.clock, restOfGap(timeoutMs), options.signal);
    const outcome = await (stream
      ? streamFollowUp(protocol, sighting, latencyMs, options)
      : followUp(protocol, sighting, timeoutMs, options));
    cut ||= outcome.kind === "cancelled";
    silent = !stream && outcome.kind === "silent";
    if (outcome.kind === "malformed") {
      spoke.add(protocol.name);
    }
    if (outcome.kind !== "answered") {
      continue;
    }
    latencyMs ??= outcome.latencyMs;
    const { status, raw } = outcome;
    const more = { protocol: protocol.name, statement: protocol.record(status), raw };
    if (options.stop(more)) {
      return { answers: [...answers, more], latencyMs, stopped: true, cut };
    }
    const verified = await verifyWanted(protocol, more, status, sighting, latencyMs, options);
    answers.push(verified.answer);
    spoke.add(protocol.name);
    cut ||= verified.cut;
  }
  return { answers, latencyMs, stopped: false, cut, failure };
}

/** How the protocol of the sighting was asked, and what it says. */
interface Opening {
  readonly answer?: Answer;
  readonly status?: unknown;
  readonly latencyMs: number | null;
  readonly failure?: Inspection["failure"];
}

/** What the protocol of the sighting says. */
async function openingAnswer(
  protocol: Protocol,
  sighting: Sighting,
  options: InspectOptions,
): Promise<Opening> {
  const said = (statement: Statement, raw?: Uint8Array) => ({
    ...{ protocol: protocol.name, statement, raw },
  });
  const latencyMs = sighting.latencyMs ?? null;
  if (sighting.status !== undefined) {
    const { status, raw } = sighting;
    return { answer: said(protocol.record(status), raw), status, latencyMs };
  }
  const { endpoint, socket, verified } = sighting;
  const fresh = options.clock.now() - sighting.at < STALE_MS;
  const outcome = await attempt(protocol, {
    endpoint,
    link: () => verified ? options.link(endpoint, socket) : options.soleLink(endpoint),
    exclusive: !verified,
    requestedAs: options.nameOf?.(endpoint),
    known: fresh ? sighting.known : undefined,
    timeoutMs: options.timeoutMs,
    leavesMute: false,
  }, options);
  if (outcome.kind === "answered") {
    return {
      answer: said(protocol.record(outcome.status), outcome.raw),
      status: outcome.status,
      latencyMs: latencyMs ?? outcome.latencyMs,
    };
  }
  // A server whose answer was proved true is a server, though it said nothing more.
  const failure = outcome.kind;
  const proven = verified && (failure === "malformed" || !protocol.probe?.guessable);
  const nothing = { columns: {}, flags: [NO_STATUS[failure]], facts: {} };
  return { answer: proven ? said(nothing) : undefined, latencyMs, failure };
}

const NO_STATUS = { silent: "statusLost", malformed: "statusMalformed", cancelled: "statusLost" };

/**
 * Another protocol of a server that has answered. Who stays silent at first is not asked again.
 * Where others must not be asked of its speakers, a socket of its own shows the unproven ones too.
 */
function followUp(
  protocol: Protocol,
  { endpoint, socket }: Sighting,
  timeoutMs: number,
  options: InspectOptions,
): Promise<Outcome<unknown>> {
  const exclusive = options.protocols.some(({ spares }) => spares === protocol.name);
  return attempt(protocol, {
    endpoint,
    link: () => exclusive ? options.soleLink(endpoint) : options.link(endpoint, socket),
    exclusive,
    requestedAs: options.nameOf?.(endpoint),
    timeoutMs,
    leavesMute: true,
  }, options);
}

/** An answer with what its protocol finds out on request, when that is wanted. */
function verifyWanted(
  protocol: Protocol,
  answer: Answer,
  status: unknown,
  { endpoint }: Sighting,
  latencyMs: number | null,
  options: InspectOptions,
): Promise<{ answer: Answer; cut: boolean }> {
  if (!options.verify || status === undefined) return Promise.resolve({ answer, cut: false });
  const link = () => options.soleLink(endpoint);
  const verification = { endpoint, link, latencyMs, timeoutMs: options.timeoutMs };
  return verify(protocol, answer, status, verification, options);
}

/** The same over TCP, where the link bounds the time. */
function streamFollowUp(
  protocol: Protocol,
  { endpoint }: Sighting,
  latencyMs: number | null,
  options: InspectOptions,
): Promise<Outcome<unknown>> {
  return attempt(protocol, {
    endpoint,
    link: () => options.streamLink!(endpoint, protocol.name, latencyMs),
    exclusive: true,
    requestedAs: options.nameOf?.(endpoint),
    brief: true,
    timeoutMs: Infinity,
    leavesMute: true,
  }, options);
}

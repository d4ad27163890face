/**
 * Errors of NATS as messages for users.
 *
 * @module
 */
import { InputError } from "../../core/errors.ts";

/** Error codes of JetStream: see `JSApiError` of nats-server. */
const CODES = {
  noStream: 10059,
  noConsumer: 10014,
  otherConfiguration: [10058, 10065],
  wrongLastSequence: [10071, 10164],
  noPeers: 10005,
  noCluster: 10074,
  streamFull: 10077,
  noStorage: [10002, 10023, 10028, 10047],
};

/** The code of JetStream's error; 0 for other errors. */
function codeOf(error: unknown): number {
  const { code } = error as { code?: unknown };
  return typeof code === "number" ? code : 0;
}

/** Whether an update of a key was refused because the key has another revision. */
export function isWrongRevision(error: unknown): boolean {
  return CODES.wrongLastSequence.includes(codeOf(error));
}

/** Whether a stream or bucket does not exist. */
export function isMissingStream(error: unknown): boolean {
  return codeOf(error) === CODES.noStream;
}

/** Whether a stream exists with another configuration, or with the same subjects. */
export function isOtherConfiguration(error: unknown): boolean {
  return CODES.otherConfiguration.includes(codeOf(error));
}

/** Whether a consumer does not exist. */
export function isMissingConsumer(error: unknown): boolean {
  return codeOf(error) === CODES.noConsumer;
}

/** Whether a stream has reached its limit, so that nothing can be published. */
export function isFullStream(error: unknown): boolean {
  return codeOf(error) === CODES.streamFull;
}

/**
 * Whether a request for messages ended because signs of life were missing. This also happens on a busy
 * machine: only a repetition means that the server does not reply.
 */
export function isMissedHeartbeat(error: unknown): boolean {
  return error instanceof Error && error.message === "heartbeats missed";
}

/** The error of a first connection that failed. */
export function connectError(error: unknown, urls: string): Error {
  if (error instanceof Deno.errors.NotCapable) return error;
  return new InputError(`Cannot connect to NATS at "${urls}": ${connectReason(error as Error)}`);
}

function connectReason({ name, message }: Error): string {
  if (/ECONNREFUSED|connection refused/.test(message)) {
    return "no server listens there; start one, for example with: nats-server -js";
  }
  if (/getaddrinfo EPERM/.test(message)) {
    return "the permission to look up the host name is missing; add --allow-net to deno run or " +
      "deno install";
  }
  if (/getaddrinfo/.test(message)) return "the host name has no address";
  if (name === "TimeoutError") return "there is no reply of a NATS server";
  if (name === "AuthorizationError" || name === "UserAuthenticationExpiredError") {
    return "the server refuses the user, password, token or key, or none was given";
  }
  if (/does not support 'tls'/.test(message)) {
    return "the server offers no TLS; use nats:// without --nats-ca";
  }
  if (/certificate|UnknownIssuer|NotValidForName/i.test(message)) {
    return `the server's certificate is not valid (${
      oneLine(message)
    }); --nats-ca names the file ` +
      "of its certification authority";
  }
  return oneLine(message);
}

/** The error of a request that NATS did not answer, or refused: a later one may succeed. */
export class BrokerError extends InputError {}

/** The error of a request to JetStream, for a user. */
export function brokerError(error: unknown, urls: string): Error {
  if (error instanceof Deno.errors.NotCapable || error instanceof InputError) return error;
  return new BrokerError(`Cannot use NATS at "${urls}": ${brokerReason(error as Error)}`);
}

function brokerReason(error: Error): string {
  const code = codeOf(error);
  if (error.name === "JetStreamNotEnabled") {
    return "JetStream is not enabled, or its cluster has no leader; start a server with: " +
      "nats-server -js";
  }
  const violation = violationOf(error);
  if (violation !== undefined) return violation;
  const lacksStorage = error.message.includes("insufficient storage");
  if (CODES.noStorage.includes(code) || lacksStorage) {
    return "its storage for JetStream is too small for --results-limit and 424 MiB of buckets";
  }
  if (code === CODES.noCluster || code === CODES.noPeers) {
    return "--replicas 3 needs a cluster of three servers with JetStream";
  }
  if (error.name === "TimeoutError") {
    return "JetStream does not reply; a cluster may still elect its leader";
  }
  return oneLine(error.message);
}

/** The text about a missing permission. */
function violationOf(error: Error): string | undefined {
  for (let one: unknown = error; one instanceof Error; one = one.cause) {
    if (one.name !== "PermissionViolationError") continue;
    const { operation, subject } = one as Error & { operation: string; subject: string };
    const verb = operation === "publish" ? "publish to" : "subscribe to";
    return `the user has no permission to ${verb} "${subject}"`;
  }
}

function oneLine(message: string): string {
  return message.split("\n")[0].trim();
}

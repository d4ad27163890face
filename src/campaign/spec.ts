/**
 * The specification of a campaign: what its workers scan, and how. Submitters store it in NATS as
 * JSON, workers and collectors read it.
 *
 * @module
 */
import { DAY_MS } from "../core/quantities.ts";
import { type Option, optionsOf } from "../app/options/mod.ts";
import { configurationOf, type PreparedScan } from "../app/scan/mod.ts";
import { sha256 } from "../scan/mod.ts";
import {
  type Configuration,
  formatConfiguration,
  parseConfiguration,
} from "../app/resume/scan_configuration.ts";
import {
  type Check,
  entriesOf,
  FieldError,
  integer,
  nullable,
  objectOf,
  optional,
  parseJson,
  text,
  wrongField,
} from "../core/checked_values.ts";
import { InputError } from "../core/errors.ts";
import type { Protocol } from "../protocols/protocol.ts";
import { CAMPAIGN_NAME, MAX_PARTS, MAX_VIEWS, SPECS } from "./names.ts";
import { withDeadline } from "./nats/deadline.ts";
import type { Broker } from "./nats/connection.ts";
import { brokerError } from "./nats/errors.ts";

/** What the submitter of a campaign decides about its parts. */
export interface SpecDetails {
  readonly name: string;
  /** When it was submitted, Unix milliseconds. */
  readonly submittedAt: number;
  readonly parts: number;
  /** The number of views of each part, each from another vantage. Default: 1. */
  readonly views?: number;
  /** Maximum number of parts that are scanned at the same time. */
  readonly maxRunning: number;
  /** Time after which a part of a worker without a sign of life is given to another, milliseconds. */
  readonly ackWaitMs: number;
}

export interface Spec extends SpecDetails {
  /** The version of the program that submitted it. Other versions may order targets differently. */
  readonly program: string;
  /** Packets per second of all parts together; `null`: no limit. */
  readonly rate: number | null;
  /** The options, the found targets and the digest of their order. */
  readonly configuration: Configuration;
}

/** The form of specifications, which increases with each change that older programs cannot read. */
const FORM = 1;

/** Options of `campaign submit` and `scan` that apply to the submitting process alone. */
const OF_SUBMITTER: ReadonlySet<string> = new Set([
  "allow-private",
  "dry-run",
  "exclude-file",
  "input-file",
  "json",
  "opt-out-file",
  "quiet",
  "strict",
]);

/** The options of a scan that a specification may contain: those of `campaign submit`. */
export function specOptions(): readonly Option[] {
  const submitted = new Set(optionsOf("campaign submit").map(({ name }) => name));
  return optionsOf("scan").filter(({ name }) => submitted.has(name) && !OF_SUBMITTER.has(name));
}

/** A scan that a campaign divides into parts. */
export interface DividedScan
  extends Pick<PreparedScan, "given" | "found" | "whole" | "choice" | "limits"> {
  readonly context: Pick<PreparedScan["context"], "program">;
}

/** The specification of a campaign that scans the targets of a scan. */
export function specOf(scan: DividedScan, scanId: string, details: SpecDetails): Spec {
  return {
    ...details,
    program: scan.context.program,
    rate: scan.limits.rates.rate ?? null,
    configuration: configurationOf(scan, scanId, specOptions()),
  };
}

/** The specification as JSON, in one line. */
export function formatSpec(
  { program, name, submittedAt, parts, views, maxRunning, rate, ackWaitMs, configuration }: Spec,
): string {
  return JSON.stringify({
    form: FORM,
    program,
    name,
    submittedAt,
    parts,
    views,
    maxRunning,
    rate,
    ackWaitMs,
    configuration: formatConfiguration(configuration),
  });
}

/** SHA-256 of the text of a specification, hexadecimal. Tasks contain it. */
export function specDigest(text: string): string {
  return sha256(text);
}

/**
 * Parses the text of {@linkcode formatSpec}, which anybody with access to NATS may have written.
 *
 * @param allProtocols Every protocol that it may name.
 * @throws FieldError for the first invalid field.
 */
export function parseSpec(text: string, allProtocols: readonly Protocol[]): Spec {
  const { form: _, ...spec } = objectOf({
    ...SPEC_FIELDS,
    configuration: configurationField(allProtocols),
  })(parseJson(text), "");
  return spec;
}

const form: Check<number> = (value, field) => {
  if (value === FORM) return FORM;
  throw wrongField(field, value, String(FORM));
};

const rate: Check<number> = (value, field) => {
  if (typeof value === "number" && value > 0 && value < Infinity) return value;
  throw wrongField(field, value, "a number above 0");
};

/** The fields of a specification, the configuration apart. */
const SPEC_FIELDS = {
  form,
  program: text(/^.{1,100}$/, "a version"),
  name: text(CAMPAIGN_NAME, "the name of a campaign"),
  submittedAt: integer(0, 8.64e15), // the largest valid `Date`
  parts: integer(1, MAX_PARTS),
  views: optional(integer(2, MAX_VIEWS)),
  maxRunning: integer(1, MAX_PARTS),
  rate: nullable(rate),
  ackWaitMs: integer(1000, DAY_MS),
};

/** Checks the text of a configuration, in which all workers find the same order of targets. */
const configurationField =
  (allProtocols: readonly Protocol[]): Check<Configuration> => (value, field) => {
    const json = text(/^\{/, "the text of an object")(value, field);
    try {
      const configuration = parseConfiguration(json, specOptions(), allProtocols);
      const { given } = configuration.given;
      if (given.has("seed") !== given.has("no-randomize")) return configuration;
      throw new FieldError("options must have either seed or no-randomize");
    } catch (error) {
      if (!(error instanceof FieldError)) throw error;
      throw new FieldError(`in ${field}, ${error.message}`);
    }
  };

/** What a program expects of the specification of a campaign. */
export interface ExpectedSpec {
  readonly name: string;
  /** SHA-256 of the specification. */
  readonly digest: string;
  /** The version of this program. */
  readonly program: string;
  /** Every protocol of this program. */
  readonly allProtocols: readonly Protocol[];
}

/**
 * Reads a specification.
 *
 * @throws InputError for a text that is damaged, was changed since it was submitted, belongs to another
 * campaign, or is of another version of the program.
 */
export function readSpec(
  text: string,
  { name, digest, program, allProtocols }: ExpectedSpec,
): Spec {
  const fail = (what: string) => new InputError(`Cannot use campaign "${name}": ${what}`);
  if (specDigest(text) !== digest) {
    throw fail("its specification was changed after it was submitted: the SHA-256 is another one");
  }
  try {
    checkVersions(new Map(entriesOf(parseJson(text), "")), program);
    const spec = parseSpec(text, allProtocols);
    if (spec.name === name) return spec;
    throw new FieldError(`name is "${spec.name}"`);
  } catch (error) {
    throw error instanceof FieldError ? fail(`in its specification, ${error.message}`) : error;
  }
}

function checkVersions(fields: ReadonlyMap<string, unknown>, ours: string): void {
  const [form, program] = ["form", "program"].map((name) => fields.get(name));
  if (form !== FORM) {
    const shown = JSON.stringify(form) ?? "missing";
    throw new FieldError(`form is ${shown}, and this program reads form ${FORM}`);
  }
  if (typeof program !== "string" || program === ours) return;
  throw new FieldError(
    `program is ${program}, and this is ${ours}: the order of targets may differ`,
  );
}

/** Largest size of a specification, bytes. A list of a million IPv4 addresses needs up to 40 MB. */
const MAX_BYTES = 64 * 2 ** 20;

/** The object of a specification. Its name has the digest, so that no submitter overwrites another. */
function specObject(name: string, digest: string): string {
  return `${name}.${digest}`;
}

/**
 * Stores a specification of a campaign, and returns its digest.
 *
 * @throws InputError when it is too large, or NATS cannot be used.
 */
export async function putSpec(broker: Broker, name: string, text: string): Promise<string> {
  const bytes = new TextEncoder().encode(text);
  if (bytes.length > MAX_BYTES) throw tooLarge(name);
  const digest = specDigest(text);
  try {
    await (await broker.objects(SPECS)).putBlob({ name: specObject(name, digest) }, bytes);
    return digest;
  } catch (error) {
    throw brokerError(error, broker.urls);
  }
}

/** Removes all specifications of a campaign, also those of submits that ended early. */
export async function removeSpecs(
  broker: Pick<Broker, "objects">,
  name: string,
): Promise<void> {
  const store = await broker.objects(SPECS);
  for (const object of await withDeadline(store.list())) {
    if (object.name.startsWith(specObject(name, ""))) await store.delete(object.name);
  }
}

async function findSpec(
  broker: Broker,
  { name, digest }: ExpectedSpec,
): Promise<string | undefined> {
  try {
    const store = await broker.objects(SPECS);
    const object = specObject(name, digest);
    const info = await store.info(object);
    if (info === null || info.deleted) return undefined;
    if (info.size > MAX_BYTES) throw tooLarge(name);
    const bytes = await withDeadline(store.getBlob(object), 30_000 + info.size / 64);
    return bytes === null ? undefined : new TextDecoder().decode(bytes);
  } catch (error) {
    throw brokerError(error, broker.urls);
  }
}

/**
 * Reads the specification of a campaign.
 *
 * @throws InputError when there is none, it is not the expected one, or NATS cannot be used.
 */
export async function getSpec(broker: Broker, expected: ExpectedSpec): Promise<Spec> {
  const text = await findSpec(broker, expected);
  if (text !== undefined) return readSpec(text, expected);
  throw new InputError(`Cannot use campaign "${expected.name}": its specification is missing`);
}

function tooLarge(name: string): InputError {
  return new InputError(
    `Cannot use campaign "${name}": its specification has more than 64 MiB; give fewer targets, or ` +
      "ranges in place of addresses",
  );
}

/** Duration of a part, seconds: longer parts lose more work with a worker, shorter ones cost more. */
const PART_SECONDS = 60;
/** Minimum of the default number of parts. */
const MIN_PARTS = 8;

/**
 * The default number of parts of a campaign: each takes about a minute, and has a network.
 *
 * @param seconds The time that the scan takes at the rate of one part, seconds.
 * @param networks Number of networks that contain targets.
 */
export function defaultParts(seconds: number, networks: number): number {
  const wanted = Math.max(MIN_PARTS, Math.ceil(seconds / PART_SECONDS));
  return Math.min(wanted, MAX_PARTS, networks);
}

/**
 * The scan command.
 *
 * @module
 */
import { type Endpoint, family } from "../address.ts";
import { InputError } from "../errors.ts";
import { systemClock } from "../net/clock.ts";
import { openSocket } from "../net/deno.ts";
import { denoDialer } from "../net/deno_tcp.ts";
import { descriptorsLeft } from "../net/descriptors.ts";
import { uuidv7 } from "../scan/id.ts";
import type { ScanEnd } from "../scan/options.ts";
import { requirePorts } from "../scan/portless.ts";
import { scan } from "../scan/scan.ts";
import { newState, type ScanState } from "../scan/state.ts";
import { readIds } from "../sinks/known.ts";
import type { Sink } from "../sinks/sink.ts";
import type { Mark } from "../sweep/sweep.ts";
import { readArgs, type Values } from "./args.ts";
import { formatConfig, mergeValues, parseConfig } from "./config.ts";
import { print, readText, tellLine, userPath, writeText } from "./console.ts";
import { planLines, printTargets } from "./dry_run.ts";
import { checkApart, checkWritten, type WrittenFiles } from "./files.ts";
import { onInterrupt } from "./interrupt.ts";
import { optOutCheck } from "../targets/lists.ts";
import { OptOutList } from "./opt_out_list.ts";
import { openOutputs, type OutputPlan, planOutputs } from "./outputs.ts";
import { number, type Passes, type Plan, planScan, requirePermission } from "./plan.ts";
import { Progress, statusOf } from "./progress.ts";
import { resolveName } from "./resolve.ts";
import {
  isLater,
  readScanSettings,
  type ScanSettings,
  speedFor,
  type SpeedSettings,
} from "./scan_settings.ts";
import { localAddress, openAll, type Sockets } from "./sockets.ts";
import { continueCommand, continueNotes, summary } from "./summary.ts";
import { collectTargets, type NamedTargets, type NamedText } from "./targets.ts";
import { Settings } from "./values.ts";

/** Runs `scan`; returns the exit code. */
export async function runScan(args: readonly string[]): Promise<number> {
  const values = await readValues(args);
  const settings = new Settings(values);
  const chosen = readScanSettings(settings, randomSeed);
  const outputs = planOutputs(settings, Deno.stdout.isTerminal());
  const files = {
    outputs: outputs.map(({ path }) => path),
    status: settings.text("status-file"),
    metadata: settings.text("metadata-file"),
  };
  checkApart(files);
  if (settings.has("echo-config")) {
    await print(formatConfig("scan", values));
    return 0;
  }
  const optOuts = new OptOutList(settings.text("opt-out-file"));
  const named = await namedTargets(settings, optOuts);
  const { targets } = named;
  if (settings.text("ports") === undefined) {
    requirePorts(
      targets,
      chosen.protocols,
      chosen.ports,
      "name ports with --ports, as -p 9000-9100",
    );
  }
  const speed = speedFor(targets, chosen);
  const plan = planScan({ ...chosen, ...speed, targets });
  checkStart(chosen.from, plan.passes.udp);
  checkStart(chosen.fromTcp, plan.passes.tcp);
  if (settings.has("list-targets")) {
    await printTargets(named, chosen);
    return 0;
  }
  if (settings.has("dry-run")) {
    await print(planLines(plan, named, chosen, speed, outputs).join("\n"));
    return 0;
  }
  requirePermission(targets, plan, settings.has("i-have-permission"));
  if (settings.has("verbose")) planLines(plan, named, chosen, speed, outputs).forEach(tellLine);
  return await execute({ settings, chosen, speed, named, plan, outputs, files, optOuts });
}

/** Who goes on behind the end has other options than the scan that was interrupted. */
function checkStart({ pass, position }: Mark, { sizes }: Passes): void {
  if (!isLater({ pass, position })) return;
  if (pass <= sizes.length && position <= sizes[pass - 1]) return;
  throw new InputError(
    `Cannot start from ${pass}:${position}: ${
      pass > sizes.length
        ? `there are ${sizes.length} passes`
        : `pass ${pass} has ${number(sizes[pass - 1])} targets`
    }`,
  );
}

async function readValues(args: readonly string[]): Promise<Values> {
  const line = readArgs("scan", args);
  const path = new Settings(line).text("config");
  if (path === undefined) return line;
  return mergeValues(parseConfig("scan", await readText(path), `"${path}"`), line);
}

async function namedTargets(settings: Settings, optOuts: OptOutList): Promise<NamedTargets> {
  const words = settings.values.words.filter((word) => word !== "-");
  const stdin = settings.values.words.includes("-") ? ["-"] : [];
  const paths = [...settings.texts("input-file"), ...stdin];
  if (paths.filter((path) => path === "-").length > 1) {
    throw new InputError("Cannot read targets from standard input twice");
  }
  return await collectTargets({
    words,
    files: await readAll(paths),
    exclude: settings.texts("exclude"),
    excludeFiles: await readAll(settings.texts("exclude-file")),
    optedOut: await optOuts.read(),
  }, resolveName);
}

async function readAll(paths: readonly string[]): Promise<NamedText[]> {
  return await Promise.all(paths.map(async (path) => ({
    text: await readText(path),
    source: path === "-" ? "standard input" : path,
  })));
}

/** Everything that a scan needs, checked. */
interface Job {
  readonly settings: Settings;
  readonly chosen: ScanSettings;
  readonly speed: SpeedSettings;
  readonly named: NamedTargets;
  readonly plan: Plan;
  readonly outputs: readonly OutputPlan[];
  readonly files: WrittenFiles;
  readonly optOuts: OptOutList;
}

/** Opens, scans, closes, and says what came of it. */
async function execute(job: Job): Promise<number> {
  const { settings, chosen, plan, outputs } = job;
  const quiet = settings.has("quiet");
  const append = settings.has("append");
  checkWritten(job.files);
  const sockets = openAll(job.named.targets, chosen);
  const connections = await connectionsFor(chosen, quiet);
  const answered = append && (isLater(chosen.from) || isLater(chosen.fromTcp))
    ? await knownServers(outputs)
    : [];
  const shown: { progress?: Progress } = {};
  const sinks = await openOutputs(outputs, append, () => shown.progress?.clear());
  const scanId = uuidv7(Date.now(), crypto.getRandomValues(new Uint8Array(10)));
  const state = newState(scanId, performance.now());
  using interrupt = onInterrupt(() => {
    shown.progress?.clear();
    if (!quiet) tellLine("blocksweep: finishing the rows in hand; Ctrl-C again to stop at once");
  });
  let end: ScanEnd;
  {
    using progress = new Progress({
      state,
      governor: plan.governor,
      terminal: !quiet && Deno.stderr.isTerminal(),
      everyMs: quiet ? 0 : chosen.statsEveryMs,
      statusFile: job.files.status,
    });
    shown.progress = progress;
    const options = scanOptions(job, state, sockets, sinks, answered, interrupt.signal);
    const onPass = settings.has("verbose")
      ? (transport: "udp" | "tcp") => progress.tellPass(plan, transport)
      : undefined;
    end = await scan({ ...options, connections, onPass });
    end = await close(sinks, end, state);
  }
  return await report(job, state, end);
}

/** Descriptors that outputs, lists and sockets of inspections may need besides connections. */
const SPARE_DESCRIPTORS = 64;

/** How many connections there may be at once; says so where the system allows less than asked. */
async function connectionsFor(chosen: ScanSettings, quiet: boolean): Promise<number> {
  const { protocols, concurrency } = chosen;
  if (protocols.every(({ transport }) => transport !== "tcp")) return concurrency;
  const bits = chosen.sourceAddress === undefined ? 4 : family(chosen.sourceAddress);
  const open = () => openSocket({ address: localAddress(chosen, bits), port: 0 }, 1);
  const left = await descriptorsLeft(concurrency + SPARE_DESCRIPTORS, open);
  const connections = Math.max(1, Math.min(concurrency, left - SPARE_DESCRIPTORS));
  if (connections < concurrency && !quiet) {
    tellLine(
      `blocksweep: ${number(connections)} connections at once in place of ` +
        `${number(concurrency)}: there are no more descriptors (ulimit -n)`,
    );
  }
  return connections;
}

function scanOptions(
  { chosen, speed, named, optOuts }: Job,
  state: ScanState,
  sockets: Sockets,
  sinks: readonly Sink[],
  answered: readonly Endpoint[],
  signal: AbortSignal,
): Parameters<typeof scan>[0] {
  return {
    ...chosen,
    ...speed,
    ...named,
    answered,
    openSockets: (bits) => sockets[bits],
    dialer: denoDialer(chosen.sourceAddress),
    connections: chosen.concurrency,
    openSole: (bits) => openSocket({ address: localAddress(chosen, bits), port: 0 }),
    optsOut: optOutCheck(),
    onOptOut: (address) => optOuts.note(address),
    sinks,
    random: (size) => crypto.getRandomValues(new Uint8Array(size)),
    clock: systemClock,
    signal,
    state,
  };
}

/** Servers that an earlier part of this scan wrote into the outputs. */
async function knownServers(outputs: readonly OutputPlan[]): Promise<Endpoint[]> {
  const lists = outputs.filter(({ readable }) => readable)
    .map(({ path, format }) => readIds(userPath(path), format.name));
  return (await Promise.all(lists)).flat();
}

/** Closes the outputs; a row is written when its file is closed without an error. */
async function close(sinks: readonly Sink[], end: ScanEnd, state: ScanState): Promise<ScanEnd> {
  let error = end.error;
  for (const sink of sinks) {
    try {
      await sink[Symbol.asyncDispose]();
    } catch (fault) {
      error ??= fault as Error;
    }
  }
  if (error === undefined) return end;
  state.ended = "failed";
  return { ...end, reason: "failed", error };
}

/** Says how it went, and turns it into an exit code. */
async function report(job: Job, state: ScanState, end: ScanEnd): Promise<number> {
  const { settings, chosen, outputs } = job;
  if (!settings.has("quiet")) summary(state, end, outputs).forEach(tellLine);
  if (end.error !== undefined) {
    if (end.error instanceof Deno.errors.NotCapable) throw end.error;
    tellLine(`blocksweep: ${end.error.message}`);
  }
  const early = end.reason === "interrupted" || end.reason === "max-runtime";
  if (early && (end.mark.pass <= state.passes || end.tcpMark.pass <= state.tcp.passes)) {
    tellLine(`go on with: ${continueCommand(settings.values, chosen, end, outputs)}`);
    continueNotes(settings.values, outputs).forEach(tellLine);
  }
  const { metadata } = job.files;
  if (metadata !== undefined) {
    const options = JSON.parse(formatConfig("scan", settings.values));
    const seed = chosen.seed ?? null;
    const marks = { mark: end.mark, tcp_mark: end.tcpMark };
    const text = JSON.stringify({ options, seed, ...statusOf(state), ...marks }, null, 2);
    await writeText(metadata, `${text}\n`);
  }
  return end.reason === "failed" ? 1 : end.reason === "interrupted" ? 130 : 0;
}

function randomSeed(): number {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return (high & 0x1fffff) * 2 ** 32 + low;
}

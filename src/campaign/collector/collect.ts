/**
 * Runs a collector: opens the database and NATS, and collects.
 *
 * @module
 */
import { type CallContext, contextNetwork } from "../../app/network/call_context.ts";
import { connectionEnvironment, type OptionsOf } from "../../app/options/mod.ts";
import { fileChangeOf, prunedLine, pruneOnce } from "../../app/databases/mod.ts";
import { openStore, readCollectorIdentity, withDatabaseErrors } from "../../store/mod.ts";
import { InputError } from "../../core/errors.ts";
import { redactUrl } from "../../core/redact.ts";
import { systemClock } from "../../net/clock.ts";
import { parseDatabaseLocation } from "../../store/database_location.ts";
import { AddressSet } from "../../targets/ranges.ts";
import { Control } from "../control.ts";
import { connectBroker } from "../nats/connection.ts";
import { checkTopology } from "../nats/topology.ts";
import { Collector, type CollectorOptions } from "./collector.ts";
import { KnownCampaigns } from "./known_campaigns.ts";
import { LeaseWatch } from "./lease_watch.ts";
import { PatientDatabase } from "./patient_database.ts";

export interface CollectOptions
  extends Omit<OptionsOf<"campaign collect">, "config">, Pick<CollectorOptions, "everyMs"> {
  /** Collects until the scan of this campaign has ended. Default: until Ctrl-C. */
  readonly campaign?: string;
}

/** What a collector uses besides options. */
export interface CollectContext extends CallContext {
  /** The version of the program, which campaigns must have too. */
  readonly program: string;
  /** Called for each round of the collector's loop, and for each attempt to write. */
  readonly onRound?: () => void;
}

/** Wait for a file that another program has locked, milliseconds. Then the batch is written again. */
const BUSY_MS = 5000;

/**
 * Collects results into a database, until the signal is aborted.
 *
 * @throws InputError for a database or a NATS server that cannot be used, and for a campaign that
 * does not exist.
 */
export async function collect(
  options: CollectOptions,
  context: CollectContext,
  signal: AbortSignal,
): Promise<void> {
  const { output, once, campaign, downAfter, keep, everyMs, ...rest } = options;
  const { warn: report, onRound } = context;
  const location = output === undefined ? undefined : parseDatabaseLocation(output);
  if (location === undefined) {
    throw new InputError(
      output === undefined
        ? "Cannot collect: name a database with -o, for example -o servers.db or -o postgres://HOST/NAME"
        : `Cannot write rows to "${redactUrl(output)}": expected a .db file or a postgres: URL`,
    );
  }
  await using opened = new AsyncDisposableStack();
  // Without NATS, or without the campaign, no file is left behind.
  const broker = opened.use(await connectBroker(rest, `blocksweep collector of ${location.path}`));
  await checkTopology(broker);
  const control = opened.use(await Control.open(broker, (line) => report(`blocksweep: ${line}`)));
  if (campaign !== undefined && !control.campaigns().has(campaign)) {
    throw new InputError(
      `Cannot collect campaign "${campaign}": there is no campaign with this name`,
    );
  }
  const environment = connectionEnvironment(report);
  const { textIndex, partitionByMonth } = rest;
  const database = opened.use(
    await openStore(location, environment, { busyMs: BUSY_MS, textIndex, partitionByMonth }),
  );
  const identity = await withDatabaseErrors(
    "read",
    database,
    () => readCollectorIdentity(database),
  );
  const fileChange = await fileChangeOf(location);
  const clock = systemClock;
  const leases = opened.use(new LeaseWatch(broker, clock, report));
  const patient = new PatientDatabase({
    database,
    fileChange,
    clock,
    signal,
    report,
    onTry: onRound,
  });
  const shared = { broker, control, patient, downAfter, clock, report };
  const campaigns = new KnownCampaigns({ ...shared, context });
  if (campaign !== undefined && typeof await campaigns.begun(campaign) === "string") {
    throw new InputError(`Cannot collect campaign "${campaign}" with this program`);
  }
  const { optOuts } = contextNetwork(context, rest.optOutFile);
  const listed = new AddressSet(await optOuts.read());
  const collector = new Collector({
    ...{ ...shared, campaigns, leases, identity, signal, everyMs, onRound },
    optOuts: { listed, note: (address, source) => optOuts.note(address, source) },
    async onFinished() {
      if (keep === undefined) return;
      report(prunedLine(await pruneOnce(location, { observations: keep }, environment, report)));
    },
  });
  report(`collects results from ${broker.urls} into ${location.path}`);
  await collector.run({ isEmpty: once, campaign });
}

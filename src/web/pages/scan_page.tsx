/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * One scan or watch. `live.js` keeps the page of a running one up to date by `/api/live?scan=ID`.
 *
 * @module
 */
import {
  type ListedParts,
  type MemberCounts,
  type MemberKind,
  storableUuid,
  type StoredScan,
} from "../../store/mod.ts";
import { expectedMisses, lossText } from "../../app/databases/mod.ts";
import type { ScanMembers } from "../queries/dashboard_data.ts";
import { membersUrl, scanUrl } from "../components/links.ts";
import type { Piece } from "../browser/chart_data.ts";
import { Chart } from "../charts/chart.tsx";
import { countersIn } from "../browser/counters.ts";
import type { ListedServer } from "../queries/schemas.ts";
import {
  ageText,
  countText,
  durationText,
  percentText,
  UNKNOWN_TEXT,
} from "../components/quantities.ts";
import { isCampaign, PartCounts, PartLists } from "../components/campaign_parts.tsx";
import { Bar } from "../components/server_cells.tsx";
import { safeText, Time } from "../components/texts.tsx";
import { Card, CommandText, Empty, Figure, PageHead } from "../components/blocks.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";
import { durationOf, ScanBadge, scanTitle, shareOf } from "../components/scan_table.tsx";
import { ServerTable } from "../components/server_table.tsx";

export interface ScanPageData {
  readonly scan: StoredScan;
  /** Servers that it found; of a running scan or a watch, those that replied last. */
  readonly finds: readonly ListedServer[];
  /** What it saw of servers. */
  readonly changes: ScanMembers;
  /** The last scan before it with the same targets. */
  readonly before: StoredScan | undefined;
  /** The parts that run, and those that failed too often. */
  readonly parts: ListedParts;
  /** Probes and replies a second of a scan that runs, since its start. */
  readonly rates: readonly Piece[];
}

/** The form of identities. Another program may have written any text. */
const IDENTITY = /^[\w-]{1,36}$/;

/** The kinds of changes, in the order in which the page lists their servers. */
export const CHANGES = ["new", "back", "lost", "changed"] as const satisfies readonly MemberKind[];

const TITLES: Readonly<Record<MemberKind, string>> = {
  found: "Found",
  new: "New",
  back: "Back",
  changed: "Changed",
  missed: "Missed",
  lost: "Lost",
};

export function scanPage(
  { scan, finds, parts, rates, changes, before }: ScanPageData,
  context: PageContext,
): string {
  const isRunning = scan.state === "running" && IDENTITY.test(scan.scan_id);
  const { now, hasGeoip } = context;
  const hasEnded = scan.members !== null && scan.state !== "running";
  const title = scanTitle(scan);
  return htmlDocument({
    title,
    context,
    scripts: isRunning ? ["live"] : [],
    children: (
      <div class="stack" data-scan={isRunning ? scan.scan_id : undefined}>
        <PageHead title={title}>
          <ScanBadge scan={scan} />
        </PageHead>
        <Progress scan={scan} now={now} />
        <Figures scan={scan} found={asks(scan) ? changes.counts.found : scan.found} />
        {asks(scan) && (
          <Seen scan={scan} counts={changes.counts} before={before} context={context} />
        )}
        {isRunning && <LiveCharts scan={scan} rates={rates} now={now} />}
        {isCampaign(scan) && (
          <>
            <PartCounts scan={scan} />
            <PartLists scan={scan} parts={parts} now={now} />
          </>
        )}
        {scan.kind === "sweep" && !isCampaign(scan) && (isRunning || scan.counters !== null) && (
          <Counters scan={scan} />
        )}
        {hasEnded && CHANGES.map((kind) => {
          const servers = changes.servers[kind] ?? [];
          return servers.length > 0 && (
            <Card
              title={TITLES[kind]}
              aside={<AllLink scan={scan} kind={kind} count={changes.counts[kind]} />}
            >
              <ServerTable servers={servers} now={now} label={TITLES[kind]} hasGeoip={hasGeoip} />
            </Card>
          );
        })}
        <Card
          title={hasEnded ? TITLES.found : scan.kind === "watch" ? "Last replies" : "Last finds"}
          aside={hasEnded && <AllLink scan={scan} kind="found" count={changes.counts.found} />}
        >
          {isRunning && <ul class="live-finds" data-live-finds aria-live="polite"></ul>}
          {finds.length === 0
            ? <Empty title={emptyText(scan)} />
            : <ServerTable servers={finds} now={now} label="Found" hasGeoip={hasGeoip} />}
        </Card>
        <div class="grid">
          <Card title={scan.kind === "watch" ? "Details" : "Losses and rate"}>
            <Losses scan={scan} />
          </Card>
          {(scan.kind !== "watch" || scan.ranges.length > 0) && (
            <Card title="Targets">
              <Ranges scan={scan} />
            </Card>
          )}
        </div>
      </div>
    ),
  });
}

function Progress({ scan, now }: { scan: StoredScan; now: number }) {
  const share = shareOf(scan);
  if (share === null) return null;
  const end = scan.state !== "running" || scan.ends_at === null
    ? ""
    : `ends ${ageText(scan.ends_at, now)}`;
  return (
    <section class="card progress-card">
      <p>
        <strong data-live="share">{percentText(share)}</strong>{" "}
        <span class="matched">
          <span data-live="position">{countText(scan.position)}</span>
          {` of ${countText(scan.total)} positions visited`}
        </span>
        <span class="end" data-live="ends">{end}</span>
      </p>
      <Bar share={share} />
    </section>
  );
}

/** Whether a scan notes what it saw of servers. */
function asks({ kind, members }: StoredScan): boolean {
  return members !== null || kind === "sweep" || kind === "lan";
}

function emptyText({ kind, state }: StoredScan): string {
  if (kind === "watch") return "No server has replied to this watch last.";
  return state === "running" ? "No server found yet." : "This scan found no server.";
}

function AllLink({ scan, kind, count }: { scan: StoredScan; kind: MemberKind; count: number }) {
  return (
    <a href={membersUrl(scan.scan_id, kind)}>
      {`All ${countText(count)}`}
      <span class="hidden">{` servers: ${TITLES[kind]}`}</span>
    </a>
  );
}

/** What the scan saw of servers: numbers that link to lists, and what they mean. */
function Seen(
  { scan, counts, before, context }: {
    scan: StoredScan;
    counts: MemberCounts;
    before: StoredScan | undefined;
    context: PageContext;
  },
) {
  const { missed, lost } = expectedMisses(scan, counts);
  const notes: Partial<Record<MemberKind, string>> = {
    missed: missed === undefined || counts.missed === 0 ? undefined : lossText(missed),
    lost: lost === undefined || counts.lost === 0 ? undefined : lossText(lost),
  };
  const isLinked = storableUuid(scan.scan_id) !== null;
  return (
    <Card title="What it saw of servers">
      <dl class="figures small">
        {([...CHANGES, "found", "missed"] as const).map((kind) => (
          <Figure
            name={TITLES[kind]}
            value={counts[kind] > 0 && isLinked
              ? <a href={membersUrl(scan.scan_id, kind)}>{countText(counts[kind])}</a>
              : countText(counts[kind])}
            note={notes[kind]}
          />
        ))}
      </dl>
      <p class="hint">
        Missed: a known server was asked and did not reply. Lost: missed, and it had replied to the
        last scan that asked it. Servers that this scan did not ask (other targets, ports or
        protocols, exclusions, an early end) are in none of these numbers.
      </p>
      {before !== undefined && (
        <p class="hint">
          Scan before: <a href={scanUrl(before.scan_id)}>{scanTitle(before)}</a>.{" "}
          {isLinked && storableUuid(before.scan_id) !== null && (
            <>
              All differences to it:{" "}
              <CommandText
                text={commandFor(context, `diff DATABASE ${before.scan_id} ${scan.scan_id}`)}
              />
            </>
          )}
        </p>
      )}
    </Card>
  );
}

function Figures({ scan, found }: { scan: StoredScan; found: number }) {
  const duration = durationOf(scan);
  const isWatch = scan.kind === "watch";
  return (
    <dl class="figures">
      {isWatch && scan.total > 0 && <Figure name="Watched" value={countText(scan.total)} />}
      <Figure
        name={isWatch ? "Online" : "Servers found"}
        value={<span data-live="found">{countText(found)}</span>}
      />
      <Figure
        name={scan.kind === "watch" ? "Polls sent" : "Probes sent"}
        value={<span data-live="probes">{countText(scan.probes_sent)}</span>}
      />
      <Figure name="Replies" value={<span data-live="replies">{countText(scan.replies)}</span>} />
      <Figure
        name="Duration"
        value={
          <span data-live="duration">
            {duration === null ? UNKNOWN_TEXT : durationText(duration)}
          </span>
        }
      />
    </dl>
  );
}

/** What became of packets, replies and rows, losses first. */
function Counters({ scan: { counters } }: { scan: StoredScan }) {
  const known = countersIn(counters);
  return (
    <Card title="Counters of the scan: losses by cause, and replies">
      <dl class="facts counters" data-live-counters>
        {known.length === 0 && (
          <>
            <dt>Not available</dt>
            <dd>A scan writes them at least every 10 seconds while it runs.</dd>
          </>
        )}
        {known.map(([title, value]) => (
          <>
            <dt>{title}</dt>
            <dd>{countText(value)}</dd>
          </>
        ))}
      </dl>
    </Card>
  );
}

/** The charts to which `live.js` adds values. */
function LiveCharts(
  { scan, rates, now }: { scan: StoredScan; rates: readonly Piece[]; now: number },
) {
  const to = scan.heartbeat_at ?? now;
  const from = Math.min(scan.started_at ?? to, to, ...rates.slice(0, 1).map(([at]) => at));
  const period = { from, to: Math.max(to, from + 1) };
  const piecesOf = (column: 2 | 3) =>
    rates.map((piece): Piece => [piece[0], piece[1], piece[column] ?? null]);
  return (
    <div class="grid" data-live-charts>
      <LiveChart name="probes" title="Packets" color={1} {...period} pieces={piecesOf(2)} />
      <LiveChart name="replies" title="Replies" color={0} {...period} pieces={piecesOf(3)} />
    </div>
  );
}

function LiveChart(
  { name, title, color, from, to, pieces }: {
    readonly name: string;
    readonly title: string;
    readonly color: number;
    readonly from: number;
    readonly to: number;
    readonly pieces: readonly Piece[];
  },
) {
  const series = [{ name: title.toLowerCase(), color, shape: "area" }] as const;
  return (
    <Card title={`${title} a second`} aside={<b data-live={`${name}-rate`}></b>}>
      <div data-live-chart={name}>
        <Chart
          data={{ title, unit: `${series[0].name} a second`, from, to, series, pieces }}
          isGrowing
        />
      </div>
    </Card>
  );
}

function Losses({ scan }: { scan: StoredScan }) {
  const { kind, packet_loss: loss, rows_lost: rows, rate, rate_reason: reason } = scan;
  return (
    <dl class="facts">
      <dt>Rows that could not be written</dt>
      <dd data-live="rows-lost">{countText(rows)}</dd>
      {kind !== "watch" && (
        <>
          <dt>Packet loss, estimated</dt>
          <dd data-live="loss">{percentText(loss)}</dd>
          <dt>Rate limit found</dt>
          <dd data-live="rate">
            {rate === null ? "not searched" : `${countText(rate)} packets a second`}
          </dd>
        </>
      )}
      {reason !== null && (
        <>
          <dt>Reason for the rate</dt>
          <dd>{safeText(reason)}</dd>
        </>
      )}
      <dt>Started</dt>
      <dd>
        <Time at={scan.started_at} />
      </dd>
      <dt>Ended</dt>
      <dd>
        <Time at={scan.finished_at} />
      </dd>
      <dt>Runs</dt>
      <dd>{countText(scan.runs)}</dd>
      <dt>Identity</dt>
      <dd>
        <code>{safeText(scan.scan_id, 40)}</code>
      </dd>
    </dl>
  );
}

/** Number of ranges that are listed before the rest is folded. */
const FIRST_RANGES = 12;

function Ranges({ scan: { ranges, excluded, widened, sampled } }: { scan: StoredScan }) {
  return (
    <>
      {ranges.length === 0
        ? <p class="hint">No ranges are stored.</p>
        : <RangeList ranges={ranges} />}
      {widened && (
        <p class="hint">
          These ranges contain more addresses than the original ones, because those were too many.
        </p>
      )}
      {sampled && (
        <p class="hint">
          The scan was adaptive: it probed only those addresses where servers were likely.
        </p>
      )}
      {excluded.length > 0 && (
        <>
          <h3>Excluded</h3>
          <RangeList ranges={excluded} />
        </>
      )}
    </>
  );
}

function RangeList({ ranges }: { ranges: readonly string[] }) {
  const items = ranges.map((range) => (
    <li>
      <code>{safeText(range, 100)}</code>
    </li>
  ));
  return (
    <>
      <ul class="ranges">{items.slice(0, FIRST_RANGES)}</ul>
      {items.length > FIRST_RANGES && (
        <details>
          <summary class="hint">{`${countText(items.length - FIRST_RANGES)} more`}</summary>
          <ul class="ranges">{items.slice(FIRST_RANGES)}</ul>
        </details>
      )}
    </>
  );
}

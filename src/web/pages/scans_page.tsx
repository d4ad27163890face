/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The list of scans and watches.
 *
 * @module
 */
import type { StoredScan } from "../../store/mod.ts";
import { Card, CommandText, Empty, PageHead } from "../components/blocks.tsx";
import { safeText } from "../components/texts.tsx";
import { htmlDocument } from "./layout.tsx";
import { commandFor, type PageContext } from "./page_context.ts";
import { ScanTable } from "../components/scan_table.tsx";

export function scansPage(
  { scans }: { readonly scans: readonly StoredScan[] },
  context: PageContext,
): string {
  const isRunning = ({ state }: StoredScan) => state === "running";
  const [running, past] = [scans.filter(isRunning), scans.filter((one) => !isRunning(one))];
  return htmlDocument({
    title: "Scans",
    context,
    scripts: ["follow"],
    children: (
      <div class="stack" data-follow>
        <PageHead title="Scans and watches" />
        {scans.length === 0 && (
          <div class="card">
            <Empty title={`No scan has written to ${safeText(context.database, 60)} yet.`}>
              <p>
                Start one:{" "}
                <CommandText text={commandFor(context, "scan 192.168.1.0/24 -o DATABASE")} />
              </p>
            </Empty>
          </div>
        )}
        {running.length > 0 && (
          <Card title="Running">
            <ScanTable scans={running} now={context.now} label="Running scans and watches" />
          </Card>
        )}
        {past.length > 0 && (
          <Card title="Past">
            <ScanTable scans={past} now={context.now} label="Past scans and watches" />
          </Card>
        )}
      </div>
    ),
  });
}

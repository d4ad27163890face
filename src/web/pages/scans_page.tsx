/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The list of scans and watches.
 *
 * @module
 */
import type { StoredScan } from "../../store/scans/scan_list.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** The page `/scans`. */
export function scansPage(
  { scans }: { readonly scans: readonly StoredScan[] },
  context: PageContext,
): string {
  return htmlDocument({
    title: "Scans",
    context,
    children: (
      <ul>
        {scans.map(({ scan_id, kind, state }) => (
          <li>
            <a href={`/scans/${encodeURIComponent(scan_id)}`}>{kind}</a> {state}
          </li>
        ))}
      </ul>
    ),
  });
}

/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * One scan or watch. `live.js` keeps the page of a running one up to date by `/api/live?scan=ID`.
 *
 * @module
 */
import type { StoredScan } from "../../store/scans/scan_list.ts";
import type { ListedServer } from "../data/dashboard_data.ts";
import { htmlDocument } from "./layout.tsx";
import type { PageContext } from "./page_context.ts";

/** The page `/scans/{id}`. */
export function scanPage(
  { scan, finds }: { readonly scan: StoredScan; readonly finds: readonly ListedServer[] },
  context: PageContext,
): string {
  return htmlDocument({
    title: "Scan",
    context,
    children: (
      <>
        <h1>{scan.kind} {scan.scan_id}</h1>
        <p>{scan.state}</p>
        <ul>
          {finds.map(({ id, key }) => (
            <li>
              <a href={`/servers/${id}`}>{key}</a>
            </li>
          ))}
        </ul>
      </>
    ),
  });
}

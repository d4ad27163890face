/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The other endpoints of a server, and the rules by which they certainly belong to it.
 *
 * @module
 */
import { GROUP_RULES, type OtherRows } from "../../store/mod.ts";
import { serverUrl } from "./links.ts";
import { countText } from "./quantities.ts";
import { safeText } from "./texts.tsx";

export function OtherRowList({ others: { members, count } }: { others: OtherRows }) {
  const rest = count - members.length;
  return (
    <ul class="relations">
      {members.map(({ id, key, online, rules }) => (
        <li>
          <a href={serverUrl(id)}>{safeText(key)}</a>
          {!online && " (offline)"}
          {": "}
          {rules.map((rule) => GROUP_RULES[rule]).join("; ")}
        </li>
      ))}
      {rest > 0 && <li>{`and ${countText(rest)} more`}</li>}
    </ul>
  );
}

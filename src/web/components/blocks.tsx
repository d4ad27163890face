/** @jsxImportSource npm:hono@4.13.19/jsx */
/**
 * The blocks of which pages consist: headings, cards, tabs, figures.
 *
 * @module
 */
import type { Child } from "npm:hono@4.13.19/jsx";
import { safeText } from "./texts.tsx";

/** The heading of a page, and what stands beside it. */
export function PageHead({ title, children }: { title: Child; children?: Child }) {
  return (
    <div class="page-head">
      <h1>{title}</h1>
      {children}
    </div>
  );
}

/** A part of a page with a heading. */
export function Card(
  { title, children, aside, wide }: {
    title: Child;
    children: Child;
    aside?: Child;
    wide?: boolean;
  },
) {
  return (
    <section class={wide ? "card wide" : "card"}>
      <div class="card-head">
        <h2>{title}</h2>
        {aside}
      </div>
      {children}
    </section>
  );
}

/** Links of which one is chosen. */
export function Tabs(
  { label, tabs }: {
    label: string;
    tabs: readonly { readonly name: string; readonly url: string; readonly isChosen: boolean }[];
  },
) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, url, isChosen }) => (
        <a href={url} aria-current={isChosen ? "true" : undefined}>{name}</a>
      ))}
    </nav>
  );
}

/** A number with its name. */
export function Figure({ name, value, note }: { name: string; value: Child; note?: Child }) {
  return (
    <div class="figure">
      <dt>{name}</dt>
      <dd>
        <strong>{value}</strong>
        {note && <small>{note}</small>}
      </dd>
    </div>
  );
}

/** A command to run next. */
export function CommandText({ text }: { text: string }) {
  return <code>{safeText(text)}</code>;
}

/** What a page shows in place of missing content: what is missing, and what to do next. */
export function Empty({ title, children }: { title: string; children?: Child }) {
  return (
    <div class="empty">
      <p>
        <b>{title}</b>
      </p>
      {children}
    </div>
  );
}

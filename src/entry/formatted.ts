/**
 * Minecraft's formatted text. Section signs and JSON components are parsed into text runs. Text
 * runs are formatted as plain text, for a terminal, for a web page, or as section signs. No
 * function throws, and all take time linear in their input.
 *
 * This code is pure: it needs no permission, and runs wherever JavaScript runs.
 *
 * @module
 */
export { type Component, parseComponent } from "../core/formatted/json_component.ts";
export { type ColorDepth, formatAnsi, formatHtml, formatPlain } from "../core/formatted/render.ts";
export {
  type Dialect,
  formatSections,
  type FormattedOptions,
  parseFormatted,
} from "../core/formatted/section_signs.ts";
export { COLORS, type Style, type TextRun } from "../core/formatted/style.ts";

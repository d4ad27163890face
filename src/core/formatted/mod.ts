/**
 * The game's formatted text: section signs and JSON components are read into runs; runs are
 * written as plain text, for a terminal, for a page, and as section signs again. Nothing here
 * throws, and all of it takes time in proportion to what it reads.
 *
 * @module
 */
export * from "./json_component.ts";
export * from "./section_signs.ts";
export * from "./render.ts";
export * from "./style.ts";

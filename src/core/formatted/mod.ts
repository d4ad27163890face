/**
 * Minecraft's formatted text: `src/entry/formatted.ts` describes it.
 *
 * @module
 */
export * from "./json_component.ts";
export * from "./section_signs.ts";
export * from "./render.ts";
export * from "./style.ts";

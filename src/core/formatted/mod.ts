/**
 * Minecraft's formatted text. Section signs and JSON components are parsed into text runs. Text
 * runs are formatted as plain text, for a terminal, for a web page, or as section signs. No
 * function throws, and all take time linear in their input.
 *
 * @module
 */
export * from "./json_component.ts";
export * from "./section_signs.ts";
export * from "./render.ts";
export * from "./style.ts";

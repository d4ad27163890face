/**
 * Servers in the files of other programs.
 *
 * @module
 */
export { type ImportedServer, readForeignFile, type TargetText } from "./foreign_files.ts";
export { type ChosenColumn, namesWithoutHost } from "./tables.ts";
export { XmlError } from "./xml_tags.ts";

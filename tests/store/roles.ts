/** The roles that docs/database.md describes. */
import type { Database } from "../../src/store/database/database.ts";

/** The statements of the section about roles, with names of their own. */
async function grants(suffix: string): Promise<string> {
  const text = await Deno.readTextFile(new URL("../../docs/database.md", import.meta.url));
  const [, sql] = /## Roles in PostgreSQL\n[^]*?```sql\n([^]*?)```/.exec(text)!;
  return sql.replaceAll(/list_(writer|reader)/g, `list_$1_${suffix}`);
}

/** Makes the roles for a database with tables, and drops them after `work`. */
export async function withRoles(
  owner: Database,
  work: (roles: { readonly writer: string; readonly reader: string }) => Promise<void>,
): Promise<void> {
  const suffix = crypto.randomUUID().slice(0, 8);
  const [writer, reader] = [`list_writer_${suffix}`, `list_reader_${suffix}`];
  await owner.script(await grants(suffix));
  try {
    await work({ writer, reader });
  } finally {
    await owner.script(`drop owned by ${writer}, ${reader}; drop role ${writer}, ${reader}`);
  }
}

import { randomUUID } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { BonsaiError } from "@bonsai-agent/extension";
import type { ServerConfig } from "./config.ts";

/**
 * Writes into the file of a server that it is on or off. All else in the file stays as it is, its order too.
 * @throws BonsaiError `mcp_file_unchanged`
 */
export async function switchInFile({ name, file }: ServerConfig, isOn: boolean): Promise<void> {
  try {
    const text = await readFile(file, "utf8");
    const changed = switched(text.replace(/^\uFEFF/, ""), name, isOn);
    const { mode } = await stat(file);
    const half = `${file}.${randomUUID()}`;
    await writeFile(half, changed, { mode: mode & 0o777, flag: "wx" });
    await rename(half, file);
  } catch (cause) {
    throw new BonsaiError({
      code: "mcp_file_unchanged",
      message: `Cannot change ${file}: ${(cause as Error).message}`,
      hint: `Set "enabled": ${isOn} in the entry ${name} by hand.`,
      cause,
    });
  }
}

function switched(text: string, name: string, isOn: boolean): string {
  const config = JSON.parse(text) as { mcpServers?: Record<string, Record<string, unknown>> };
  const entry = config.mcpServers?.[name];
  if (typeof entry !== "object" || entry === null) throw new Error(`it has no entry mcpServers.${name}`);
  // Another word for the same, of other programs.
  delete entry.disabled;
  if (isOn) delete entry.enabled;
  else entry.enabled = false;
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  return `${JSON.stringify(config, null, indent)}\n`;
}

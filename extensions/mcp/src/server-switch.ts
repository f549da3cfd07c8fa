import { randomUUID } from "node:crypto";
import { readFile, rename, stat, writeFile } from "node:fs/promises";
import { BonsaiError } from "@bonsai-agent/extension";
import type { ServerConfig } from "./config.ts";

/**
 * Switches a server on or off in its file. Everything else in the file stays, in its order.
 * @throws BonsaiError `mcp_file_unchanged`
 */
export async function enableInFile({ name, file }: ServerConfig, isOn: boolean): Promise<void> {
  try {
    const text = await readFile(file, "utf8");
    const { mode } = await stat(file);
    const draft = `${file}.${randomUUID()}`;
    const changed = setEnabled(text.replace(/^\uFEFF/, ""), name, isOn);
    await writeFile(draft, changed, { mode: mode & 0o777, flag: "wx" });
    await rename(draft, file);
  } catch (cause) {
    throw new BonsaiError({
      code: "mcp_file_unchanged",
      message: `Cannot change ${file}: ${(cause as Error).message}`,
      hint: `Set "enabled": ${isOn} in the entry ${name} by hand.`,
      cause,
    });
  }
}

function setEnabled(text: string, name: string, isOn: boolean): string {
  const config = JSON.parse(text) as { mcpServers?: Record<string, Record<string, unknown>> };
  const entry = config.mcpServers?.[name];
  if (typeof entry !== "object" || entry === null) throw new Error(`it has no entry mcpServers.${name}`);
  // Other programs write `disabled`.
  delete entry.disabled;
  if (isOn) delete entry.enabled;
  else entry.enabled = false;
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? "  ";
  return `${JSON.stringify(config, null, indent)}\n`;
}

import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { BonsaiError } from "@bonsai-agent/messages";

/**
 * Absolute paths of a package's extensions: at least one.
 * @throws BonsaiError `package_without_extensions`
 */
export function packageEntries(folder: string, source: string): readonly string[] {
  if (statSync(folder).isFile()) return [folder];
  const file = join(folder, "package.json");
  const manifest = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const named: string[] = manifest.bonsai?.extensions ?? manifest.pi?.extensions ?? [];
  const entries = named.map((name) => join(folder, name)).filter((path) => existsSync(path));
  if (entries.length > 0) return entries;
  throw new BonsaiError({
    code: "package_without_extensions",
    message: `${source} brings no extension.`,
    hint: 'Its package.json must name them: {"bonsai": {"extensions": ["./index.ts"]}}.',
  });
}

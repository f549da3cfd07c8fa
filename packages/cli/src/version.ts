import { readFileSync } from "node:fs";

/** Reads the manifest, which is one folder above the sources and the bundle. */
export function bonsaiVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return manifest.version;
}

import { readFileSync } from "node:fs";

/** The version of this package, from its manifest: it stands one folder above the sources, and above what is built. */
export function bonsaiVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
  return manifest.version;
}

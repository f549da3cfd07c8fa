import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { VirtualModules } from "./virtual-modules.ts";

/** By folder. What is installed does not change while Bonsai runs, or is read anew with the next start. */
const peersOf = new Map<string, readonly string[]>();

/**
 * True for an installed package that wants a module of the host as its peer: a library for extensions. It gets the
 * host's, and counts as a part of the extension that imports it.
 */
export function wantsHostModule(folder: string, modules: VirtualModules): boolean {
  let peers = peersOf.get(folder);
  if (peers === undefined) {
    peers = readPeers(folder);
    peersOf.set(folder, peers);
  }
  return peers.some((name) => Object.hasOwn(modules, name));
}

function readPeers(folder: string): readonly string[] {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      peerDependencies?: Record<string, string>;
    };
    return Object.keys(manifest.peerDependencies ?? {});
  } catch {
    // Node tells what is wrong with a package when it resolves into it.
    return [];
  }
}

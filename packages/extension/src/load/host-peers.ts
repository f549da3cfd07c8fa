import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { VirtualModules } from "./virtual-modules.ts";

/** Peer dependencies by folder of an installed package. They do not change while Bonsai runs. */
const peersByFolder = new Map<string, readonly string[]>();

/**
 * The host modules that an installed package has as its peers: it is a library for extensions. It gets the host's
 * modules, and is loaded again with the extension that imports it.
 */
export function hostPeers(folder: string, modules: VirtualModules): string[] {
  let peers = peersByFolder.get(folder);
  if (peers === undefined) {
    peers = readPeers(folder);
    peersByFolder.set(folder, peers);
  }
  if (peers.length === 0) return [];
  const isPeer = (name: string) => peers.some((peer) => name === peer || name.startsWith(`${peer}/`));
  return Object.keys(modules).filter(isPeer);
}

function readPeers(folder: string): readonly string[] {
  try {
    const manifest = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
      peerDependencies?: Record<string, string>;
    };
    return Object.keys(manifest.peerDependencies ?? {});
  } catch {
    // Node says what is wrong with a package when it resolves into it.
    return [];
  }
}

/** The folder of an installed package that a file imports by its name. */
export function packageOf(specifier: string, importer: string): string | undefined {
  const name = /^(?:@[\w.-]+\/)?[\w][\w.-]*(?=\/|$)/.exec(specifier)?.[0];
  if (name === undefined) return undefined;
  for (let folder = dirname(importer); dirname(folder) !== folder; folder = dirname(folder)) {
    const found = join(folder, "node_modules", name);
    if (existsSync(found)) return found;
  }
  return undefined;
}

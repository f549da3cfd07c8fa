import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ExtensionFiles } from "./extension-files.ts";
import { NotForNode, type RunnableSource } from "./runnable-source.ts";
import type { VirtualModules } from "./virtual-modules.ts";

/** An extension's own files, read before it runs: what it needs of the host, and whether Node can run it. */
export interface Survey {
  /** Names of host modules that its files may import. */
  wanted: ReadonlySet<string>;
  /** True if Node cannot run one of the files that it imports, now or later. */
  isForJiti: boolean;
  /** The files that Node can run, by path. */
  files: ReadonlyMap<string, RunnableSource>;
}

/** Follows the local imports of an extension. Files that cannot be read are left to Node, which says why. */
export function survey(entry: string, reader: ExtensionFiles, modules: VirtualModules): Survey {
  const wanted = new Set<string>();
  const files = new Map<string, RunnableSource>();
  let isForJiti = false;
  const found = new Set([entry]);
  for (const path of found) {
    let source: RunnableSource;
    try {
      source = reader.read(path);
      files.set(path, source);
    } catch (error) {
      isForJiti ||= error instanceof NotForNode;
      continue;
    }
    for (const specifier of source.imports) {
      const file = reader.find(specifier, path);
      if (file !== undefined && /\.[mc]?[jt]s$/.test(file)) found.add(file);
      for (const name of hostNames(specifier, path, modules)) wanted.add(name);
    }
    if (source.isOpen) for (const name of quotedNames(source.text, modules)) wanted.add(name);
  }
  return { wanted, isForJiti, files };
}

function hostNames(specifier: string, importer: string, modules: VirtualModules): readonly string[] {
  if (Object.hasOwn(modules, specifier)) return [specifier];
  const folder = packageOf(specifier, importer);
  return folder === undefined ? [] : hostPeers(folder, modules);
}

/** Names of host modules that a text has in quotes. */
function quotedNames(text: string, modules: VirtualModules): string[] {
  return Object.keys(modules).filter((name) => text.includes(`"${name}"`) || text.includes(`'${name}'`));
}

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

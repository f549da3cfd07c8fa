import type { ExtensionFiles } from "./extension-files.ts";
import { hostPeers, packageOf } from "./host-peers.ts";
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

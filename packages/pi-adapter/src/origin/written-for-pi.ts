import { ownModules } from "./own-modules.ts";

const ofPi = /^@(?:earendil-works|mariozechner)\/pi-/;
const ofBonsai = /^@bonsai-agent\//;

/**
 * True for an extension whose modules import a package of pi, the entry module or those next to it first, and at the
 * same place none of ours. Where none of them imports either, for one that calls the API `pi`, as pi's documents do.
 * A few shapes mean different things here and there; an extension gets those that it was written for.
 */
export function writtenForPi(path: string): boolean {
  let takesPi = false;
  for (const module of ownModules(path)) {
    if (module.imports.some((name) => ofBonsai.test(name))) return false;
    if (module.imports.some((name) => ofPi.test(name))) return true;
    takesPi ||= module.takesPi;
  }
  return takesPi;
}

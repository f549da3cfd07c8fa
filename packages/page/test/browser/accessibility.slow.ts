import { test } from "vitest";
import { expectAccessible } from "./expect-accessible.ts";
import { useBrowser } from "./shown-page.ts";

const show = useBrowser();

/** The views that the check leaves out. */
test.for([
  ["light", 1280, ["entry", "compaction", "compare"]],
  ["dark", 320, ["context", "compaction", "compare"]],
] as const)("no view breaks a rule of axe-core, %s, %i pixels wide", ([colorScheme, width, names]) =>
  expectAccessible(show, { colorScheme, width, names }),
);

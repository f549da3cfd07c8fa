import type { Invocation } from "./invocation.ts";
import type { Output } from "./output.ts";

/** What the settings of a call depend on, and who is told what is left aside. */
export type SettingsCall = Pick<Invocation, "io" | "options"> & { readonly output: Pick<Output, "notify"> };

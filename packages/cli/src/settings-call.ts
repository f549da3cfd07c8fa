import type { Invocation } from "./invocation.ts";

/** What the settings of a call depend on. */
export type SettingsCall = Pick<Invocation, "io" | "options" | "output">;

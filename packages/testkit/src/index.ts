export type { BenchTable } from "./bench-table.ts";
export { recordedSession } from "./recorded-session.ts";

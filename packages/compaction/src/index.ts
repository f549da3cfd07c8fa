export type { Summariser, SummaryAnswer, SummaryKind, SummaryRequest } from "./summariser.ts";

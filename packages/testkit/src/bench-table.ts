/** What a bench prints: ratios and figures of one run. */
export interface BenchTable {
  title: string;
  columns: string[];
  rows: string[][];
  notes?: string[];
}

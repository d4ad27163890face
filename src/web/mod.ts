/**
 * The dashboard of a database, and reports.
 *
 * @module
 */
export { openDashboardData } from "./data/open_dashboard_data.ts";
export { readTrends } from "./data/trends.ts";
export { readAccessToken } from "./http/access_token.ts";
export { serveDashboard } from "./http/serve_dashboard.ts";
export { type DashboardData, DataError, type Trend } from "./queries/dashboard_data.ts";
export { contactPage } from "./report/contact_page.tsx";
export { ReportCollector } from "./report/report_data.ts";
export { visitorPages } from "./visitors/visitor_answers.ts";
export { reportPage, TREND_DAYS } from "./report/report_page.tsx";

export const API_ROUTES: readonly import("./route.ts").Route[] = [];

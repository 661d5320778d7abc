//! Every request and notification, handed on to the server that is served.

#![expect(deprecated, reason = "the legacy era has requests that the SDK discourages")]

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CustomNotification, CustomRequest, CustomResult, DiscoverResult, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetSkillRequestParams, GetSkillResult, GetTaskParams, GetTaskResult, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListSkillsResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion,
    ReadResourceDirectoryRequestParams, ReadResourceDirectoryResult, ReadResourceRequestParams, ReadResourceResponse,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, ServiceRole, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};

use super::Serving;

macro_rules! requests {
    ($($method:ident($($request:ident: $type:ty)?) -> $result:ty;)*) => {$(
        async fn $method(
            &self,
            $($request: $type,)?
            context: RequestContext<RoleServer>,
        ) -> Result<$result, ErrorData> {
            self.here(context, |context| self.service.$method($($request,)? context)).await
        }
    )*};
}

macro_rules! returnable_requests {
    ($($method:ident($type:ty) -> $result:ty;)*) => {$(
        async fn $method(&self, request: $type, context: RequestContext<RoleServer>) -> Result<$result, ErrorData> {
            self.here_or_returned(request, context, |request, context| self.service.$method(request, context)).await
        }
    )*};
}

macro_rules! notifications {
    ($($method:ident($($notification:ident: $type:ty)?);)*) => {$(
        async fn $method(&self, $($notification: $type,)? context: NotificationContext<RoleServer>) {
            self.service.$method($($notification,)? context).await;
        }
    )*};
}

impl<S: ServerHandler> ServerHandler for Serving<S> {
    returnable_requests! {
        call_tool(CallToolRequestParams) -> CallToolResponse;
        get_prompt(GetPromptRequestParams) -> GetPromptResponse;
        read_resource(ReadResourceRequestParams) -> ReadResourceResponse;
    }

    requests! {
        ping() -> ();
        initialize(request: InitializeRequestParams) -> InitializeResult;
        discover() -> DiscoverResult;
        complete(request: CompleteRequestParams) -> CompleteResult;
        set_level(request: SetLevelRequestParams) -> ();
        list_prompts(request: Option<PaginatedRequestParams>) -> ListPromptsResult;
        list_resources(request: Option<PaginatedRequestParams>) -> ListResourcesResult;
        list_resource_templates(request: Option<PaginatedRequestParams>) -> ListResourceTemplatesResult;
        subscribe(request: SubscribeRequestParams) -> ();
        unsubscribe(request: UnsubscribeRequestParams) -> ();
        list_tools(request: Option<PaginatedRequestParams>) -> ListToolsResult;
        on_custom_request(request: CustomRequest) -> CustomResult;
        get_task(request: GetTaskParams) -> GetTaskResult;
        update_task(request: UpdateTaskParams) -> ();
        cancel_task(request: CancelTaskParams) -> ();
        list_skills(request: Option<PaginatedRequestParams>) -> ListSkillsResult;
        get_skill(request: GetSkillRequestParams) -> GetSkillResult;
        read_resource_directory(request: ReadResourceDirectoryRequestParams) -> ReadResourceDirectoryResult;
    }

    notifications! {
        on_cancelled(notification: CancelledNotificationParam);
        on_progress(notification: ProgressNotificationParam);
        on_initialized();
        on_roots_list_changed();
        on_custom_notification(notification: CustomNotification);
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let session = self.session_of(context.request_context());
        self.without_asking(session, self.service.listen(context)).await
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.service.accepted_subscription_filter(requested)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.service.get_tool(name)
    }

    fn get_info(&self) -> <RoleServer as ServiceRole>::Info {
        self.service.get_info()
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        self.service.supported_protocol_versions()
    }
}

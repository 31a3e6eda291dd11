{{- define "berth-operator.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- /* A release that is named as the chart, or after it, is named once. */ -}}
{{- define "berth-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- else if contains (include "berth-operator.name" .) .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "berth-operator.name" .) | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- /* Of what lives in no namespace: two releases of the same name do not meet. */ -}}
{{- define "berth-operator.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "berth-operator.fullname" .) -}}
{{- end -}}

{{- define "berth-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ include "berth-operator.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "berth-operator.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "berth-operator.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "berth-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "berth-operator.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "berth-operator.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* What charts may do in the namespace of their environment. */ -}}
{{- define "berth-operator.deployerRole" -}}
{{- default (printf "%s:%s-deployer" .Release.Namespace (include "berth-operator.fullname" .)) .Values.charts.role.name -}}
{{- end -}}
